"""Everything that changes during a run: networks, optimisers, live envs, streams, counters.

A learner can be built from a config, taken apart into named tensors and a JSON document, and
put together again bit for bit.
"""

import copy
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from spacil.config.groups import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.engine.adam import Adam
from spacil.engine.device import resolve_device
from spacil.engine.recorder import Recorder
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import EnvSpec, FloatArray, ResetSeeds, VectorEnv
from spacil.errors import ConfigError
from spacil.measuring.evaluate import Best, num_evaluation_envs
from spacil.measuring.frames import frame_of_run
from spacil.nets.discriminator import Discriminator
from spacil.nets.policy import GaussianPolicy
from spacil.nets.value import ValueNet
from spacil.runs.named_tensors import optimizer_tensors, restore_optimizer, with_prefix
from spacil.runs.saved_state import optional_record_from, record_from, require_same_form
from spacil.seeding import Streams
from spacil.training.target import Dual
from spacil.types import ExpertBatch

_logger = logging.getLogger(__name__)


@dataclass
class Counters:
    """Plain numbers that a resumed run must find again."""

    iteration: int = 0
    """Iterations done"""
    env_steps: int = 0
    failed_steps_in_row: int = 0
    saturated_in_row: int = 0


class Learner:
    """One run in memory. The loop reads and moves it; nothing else does."""

    def __init__(
        self,
        config: TrainConfig,
        env_source: Any,
        demonstrations: Demonstrations | None,
        common_frame: CommonFrame | None = None,
    ) -> None:
        """`env_source` is what `make_vector_env` takes: a task name, an env, or a factory.

        `common_frame`: that of the demonstrations before they were edited, where they were.
        """
        if config.algorithm != "trpo" and demonstrations is None:
            raise ConfigError(f"{config.algorithm} learns from demonstrations: pass --demos")
        run = config.run
        self.config = config
        self.device = resolve_device(run.device)
        self.recorder = Recorder(self.device)
        self.streams = Streams.from_seed(run.seed)
        self.demonstrations = demonstrations
        self.env: VectorEnv = make_vector_env(
            env_source,
            run.num_envs,
            ResetSeeds(run.seed, "env"),
            run.simulation_threads,
            run.env_timeout,
        )
        if not self.env.repeats_exactly():
            _logger.warning(
                "%s does not repeat: one seed and the same actions gave other numbers the second "
                "time. No run on it can be repeated or resumed bit for bit",
                self.env.spec.task,
            )
        horizon = self.env.spec.horizon
        self.eval_env: VectorEnv = make_vector_env(
            env_source,
            num_evaluation_envs(config.evaluation.evaluation_steps, horizon),
            ResetSeeds(run.seed, "eval"),
            run.simulation_threads,
            run.env_timeout,
        )
        self.common_frame = common_frame or frame_of_run(
            demonstrations, config.task, self.env.spec.num_states
        )
        self.env_states: FloatArray = self.env.reset()
        self.counters = Counters()
        self.best: Best | None = None
        self.dual: Dual | None = None
        """The weight's dual variable, from the first iteration of a run with a target on."""
        self.open_returns: FloatArray = np.zeros(run.num_envs)
        self.open_lengths: NDArray[np.int64] = np.zeros(run.num_envs, dtype=np.int64)
        self._build_networks(self.env.spec)

    def _build_networks(self, spec: EnvSpec) -> None:
        nets, start = self.config.nets, self.streams.init
        self.policy = GaussianPolicy(
            spec.num_states,
            spec.action_low,
            spec.action_high,
            nets.policy_hidden,
            nets.init,
            nets.initial_log_std,
            start,
        ).to(self.device)
        self.value = ValueNet(spec.num_states, nets.value_hidden, nets.init, start).to(self.device)
        self.value_optimizer = Adam(self.value, self.config.value.value_learning_rate)
        # Simulation reads a copy on the CPU; on the CPU it is the policy itself.
        self.acting_policy = self.policy
        if self.device.type != "cpu":
            self.acting_policy = copy.deepcopy(self.policy).cpu()
        self.discriminator: Discriminator | None = None
        self.discriminator_optimizer: Adam | None = None
        self.expert: ExpertBatch | None = None
        if self.config.algorithm != "trpo":
            self._build_adversary(spec)

    def _build_adversary(self, spec: EnvSpec) -> None:
        config, nets = self.config.discriminator, self.config.nets
        assert self.demonstrations is not None
        batch = self.demonstrations.expert_batch(config.discriminator_actions)
        self.expert = ExpertBatch(batch.states.to(self.device), batch.actions.to(self.device))
        discriminator = Discriminator(
            spec.num_states,
            spec.num_actions,
            nets.discriminator_hidden,
            config.discriminator_activation,
            nets.init,
            self.streams.init,
        ).to(self.device)
        if config.discriminator_actions == "executed":
            discriminator.read_actions_clipped(self.policy.action_low, self.policy.action_high)
        if config.standardize_actions:
            discriminator.read_actions_standardized(self.expert.actions)
        self.discriminator = discriminator
        self.discriminator_optimizer = Adam(discriminator, config.discriminator_learning_rate)

    @property
    def is_done(self) -> bool:
        """All iterations done."""
        return self.counters.iteration >= self.config.run.iterations

    def sync_acting_policy(self) -> None:
        if self.acting_policy is not self.policy:
            self.acting_policy.load_state_dict(self.policy.state_dict())
            self.acting_policy.normalizer.refresh()

    def close(self) -> None:
        self.env.close()
        self.eval_env.close()

    # --- taking it apart, and putting it together again

    def tensors(self) -> dict[str, Tensor]:
        """Every number of the run, by name, on the CPU."""
        named: dict[str, Tensor] = {}
        for name, module in self._modules().items():
            named |= {f"{name}.{key}": value for key, value in module.state_dict().items()}
        for name, optimizer in self._optimizers().items():
            named |= optimizer_tensors(name, self._modules()[name], optimizer)
        named |= {f"stream.{name}": value for name, value in self.streams.state().items()}
        named |= {
            f"env.{name}": torch.from_numpy(value) for name, value in self.env.save_state().items()
        }
        named["episode.returns"] = torch.from_numpy(self.open_returns)
        named["episode.lengths"] = torch.from_numpy(self.open_lengths)
        return {name: value.detach().cpu().contiguous().clone() for name, value in named.items()}

    def document(self) -> dict[str, Any]:
        """What is not a tensor, JSON-able and free of wall-clock time."""
        return {
            "counters": vars(self.counters).copy(),
            "best": None if self.best is None else vars(self.best).copy(),
            "dual": None if self.dual is None else vars(self.dual).copy(),
        }

    def restore(self, tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> None:
        """Continue exactly where `tensors()` and `document()` were taken."""
        require_same_form(tensors, self.tensors())
        counters = record_from(Counters, document.get("counters"), "counters")
        best = optional_record_from(Best, document.get("best"), "best evaluation")
        dual = optional_record_from(Dual, document.get("dual"), "dual variable")
        for name, module in self._modules().items():
            module.load_state_dict(with_prefix(tensors, f"{name}."))
        self.policy.normalizer.refresh()
        for name, optimizer in self._optimizers().items():
            restore_optimizer(name, self._modules()[name], optimizer, tensors)
        self.streams.restore(with_prefix(tensors, "stream."))
        env_state = {key: value.numpy() for key, value in with_prefix(tensors, "env.").items()}
        self.env_states = self.env.load_state(env_state)
        if self.env.spec.restores_exactly:
            self.open_returns = tensors["episode.returns"].numpy().copy()
            self.open_lengths = tensors["episode.lengths"].numpy().copy()
        else:
            _logger.warning(
                "%s cannot be saved within an episode: the run goes on with new episodes, "
                "not bit for bit",
                self.env.spec.task,
            )
        self.counters, self.best, self.dual = counters, best, dual
        self.recorder.forget()
        self.sync_acting_policy()

    def _modules(self) -> dict[str, nn.Module]:
        modules: dict[str, nn.Module] = {"policy": self.policy, "value": self.value}
        if self.discriminator is not None:
            modules["discriminator"] = self.discriminator
        return modules

    def _optimizers(self) -> dict[str, Adam]:
        optimizers = {"value": self.value_optimizer}
        if self.discriminator_optimizer is not None:
            optimizers["discriminator"] = self.discriminator_optimizer
        return optimizers
