"""The envs that a run learns in: together, in blocks, or in blocks on other machines."""

from typing import Any

from spacil.config.train_config import TrainConfig
from spacil.envs.blocks import LocalBlocks
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds, VectorEnv
from spacil.errors import ConfigError


def rollout_envs(config: TrainConfig, env_source: Any) -> VectorEnv:
    """`config.sampling.num_envs` envs, played as `config.rollouts` says."""
    run, settings = config.run, config.rollouts
    width = config.sampling.num_envs // settings.rollout_blocks

    def block(index: int) -> VectorEnv:
        seeds = ResetSeeds(run.seed, "env", first_env=index * width)
        return make_vector_env(env_source, width, seeds, run.simulation_threads, run.env_timeout)

    if (settings.rollout_blocks, settings.rollout_workers) == (1, 0):
        return block(0)
    if settings.rollout_workers > 0 and not isinstance(env_source, str):
        raise ConfigError(
            "--rollout-workers: a worker makes its envs by name: give a task name, or the name of "
            "your own as module:Env-v0 or module:function"
        )
    local = LocalBlocks([block(index) for index in range(settings.rollout_blocks)])
    if settings.rollout_workers == 0:
        return local
    from spacil.cluster.rollout_workers import BlockRecipe, RemoteBlocks

    recipe = BlockRecipe(env_source, run.seed, width, run.env_timeout)
    try:
        return RemoteBlocks(local, recipe, settings.rollout_workers, settings.ray_address)
    except BaseException:
        local.close()
        raise
