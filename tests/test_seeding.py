"""One root seed, many streams that do not meet."""

import itertools

import pytest
import torch
from stream_positions import positions

from spacil.envs.vector_env import ResetSeeds
from spacil.errors import ConfigError
from spacil.seeding import Streams, derived_seed, stream


def test_a_seed_depends_on_every_part_of_its_path() -> None:
    paths = [(name, env, k) for name in ("env", "eval") for env in range(3) for k in range(3)]
    seeds = [derived_seed(root, *path) for root in (0, 1, 2**32, 2**70) for path in paths]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert derived_seed(7, "env", 3) == derived_seed(7, "env", 3)


def test_neighbouring_runs_share_no_episode() -> None:
    streams = ("env", "eval", "probe", "evaluate", "demos")
    seeds = [
        ResetSeeds(root, name)(env, episode)
        for root, name, env, episode in itertools.product(range(4), streams, range(20), range(20))
    ]
    assert len(set(seeds)) == len(seeds)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ConfigError, match="the seed is -1, expected 0 or more"):
        derived_seed(-1, "env")


def test_streams_are_apart_and_repeat() -> None:
    def draws(root: int) -> dict[str, list[float]]:
        streams = Streams.from_seed(root)
        return {
            name: torch.rand(4, generator=getattr(streams, name)).tolist() for name in vars(streams)
        }

    first = draws(5)
    assert draws(5) == first
    everything = [tuple(numbers) for root in (5, 6) for numbers in draws(root).values()]
    assert len(set(everything)) == len(everything)


def test_drawing_from_one_stream_leaves_the_others_where_they_were() -> None:
    streams = Streams.from_seed(0)
    before = positions(streams)
    torch.rand(10, generator=streams.ball)
    after = positions(streams)
    moved = [name for name in before if not torch.equal(before[name], after[name])]
    assert moved == ["ball"]


def test_no_stream_is_the_global_one() -> None:
    before = torch.get_rng_state()
    torch.rand(3, generator=stream(0, "action"))
    assert torch.equal(torch.get_rng_state(), before)
