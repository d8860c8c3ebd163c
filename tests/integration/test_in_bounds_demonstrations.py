"""Most people's data holds the actions the env was given, and nothing else: it trains the same."""

from pathlib import Path
from typing import Any

import pytest
import torch
from demo_edits import with_tensors
from tiny_runs import tiny

import spacil
from spacil.runs import checkpoint

RAW_ONLY_FIELDS = ("actions", "initial_qpos", "initial_qvel")


@pytest.mark.parametrize("agent_type", [spacil.GAIL, spacil.SPaCIL, spacil.AIRL])
@pytest.mark.parametrize("suffix", [".demos.safetensors", ".npz"])
def test_clipped_actions_alone_give_the_bits_of_the_file_with_raw_ones(
    agent_type: type[Any], suffix: str, tmp_path: Path
) -> None:
    both_kinds = spacil.load_demos("Hopper-v4").first(3)
    assert both_kinds.actions is not None
    is_clipped = both_kinds.actions != both_kinds.executed_actions
    assert float(is_clipped.float().mean()) > 0.1
    in_bounds = with_tensors(both_kinds, **dict.fromkeys(RAW_ONLY_FIELDS))
    file = tmp_path / f"in_bounds{suffix}"
    spacil.save_demos(in_bounds, file)

    def learned(demonstrations: Any, name: str) -> Any:
        # A clone reads raw actions where it finds them, so a start from one would differ.
        preset = "plain" if agent_type is spacil.SPaCIL else "none"
        settings = tiny(agent_type.algorithm, preset=preset)
        agent = agent_type("Hopper-v4", demonstrations=demonstrations, **settings)
        agent.learn(3)
        agent.save(tmp_path / name)
        agent.close()
        saved = checkpoint.best(tmp_path / name / "checkpoints")
        assert saved is not None
        return saved.tensors

    from_both, from_clipped = learned(both_kinds, "both"), learned(file, "clipped")
    assert from_both.keys() == from_clipped.keys()
    different = [n for n, tensor in from_both.items() if not torch.equal(tensor, from_clipped[n])]
    assert different == []
