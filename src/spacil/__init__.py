"""spacil: smooth imitation learning.

    import spacil
    agent = spacil.SPaCIL("Hopper-v4", demonstrations=spacil.load_demos("Hopper-v4"))
    agent.learn(iterations=300)
    action = agent.policy.predict(observation)

Names load on first use, so that `import spacil` stays quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacil.data.demo_file import load_demos, save_demos
    from spacil.data.demos import Demonstrations
    from spacil.errors import SpacilError
    from spacil.training.agent import BC, GAIL, TRPO, SPaCIL
    from spacil.training.measure_smoothness import measure_smoothness
    from spacil.training.policy_file import load_expert, load_policy, save_policy

_HOMES = {
    "BC": "spacil.training.agent",
    "GAIL": "spacil.training.agent",
    "SPaCIL": "spacil.training.agent",
    "TRPO": "spacil.training.agent",
    "Demonstrations": "spacil.data.demos",
    "load_demos": "spacil.data.demo_file",
    "save_demos": "spacil.data.demo_file",
    "load_expert": "spacil.training.policy_file",
    "load_policy": "spacil.training.policy_file",
    "measure_smoothness": "spacil.training.measure_smoothness",
    "save_policy": "spacil.training.policy_file",
    "SpacilError": "spacil.errors",
}

__all__ = [
    "BC",
    "GAIL",
    "TRPO",
    "Demonstrations",
    "SPaCIL",
    "SpacilError",
    "load_demos",
    "load_expert",
    "load_policy",
    "measure_smoothness",
    "save_demos",
    "save_policy",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'spacil' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
