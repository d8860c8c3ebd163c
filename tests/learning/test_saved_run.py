"""What a checkpoint may say about the run that it is of."""

from pathlib import Path
from typing import Any

import pytest
import torch

from spacil.errors import StorageError
from spacil.learning import run
from spacil.runs import checkpoint


@pytest.mark.parametrize(
    ("settings", "is_refused"),
    [
        ({"num_envs": 100}, False),
        ({"num_envs": 101}, True),
        ({"policy_hidden": [100]}, False),  # 100 in and 100 out
        ({"policy_hidden": [101]}, True),
        ({"policy_hidden": [13, 13]}, False),  # 13 + 13 * 13 + 13 of 200
        ({"policy_hidden": [14, 13]}, True),
        ({"iterations": 10**9, "policy_hidden": "wide"}, False),
    ],
)
def test_sizes_may_not_exceed_twice_what_the_checkpoint_holds(
    settings: dict[str, Any], is_refused: bool
) -> None:
    tensors = {"a": torch.zeros(60), "b": torch.zeros(5, 8)}
    found = checkpoint.Checkpoint(Path("x"), 3, tensors, {}, {}, "")
    if not is_refused:
        run._require_held_sizes(settings, found)
        return
    with pytest.raises(StorageError, match="needs more numbers than the checkpoint holds"):
        run._require_held_sizes(settings, found)
