"""spacil: smooth imitation learning.

    import spacil
    agent = spacil.SPaCIL("Hopper-v4", demonstrations=spacil.load_demos("Hopper-v4"))
    agent.learn(iterations=300)
    action = agent.predict(observation)

Names load on first use, so that `import spacil` stays quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacil.agents import AIRL, BC, GAIL, TRPO, SPaCIL
    from spacil.attach.penalty import attach_penalty
    from spacil.attach.rsl_rl import attach_to_rsl_rl
    from spacil.attach.sb3 import attach_to_sb3
    from spacil.comparison.comparison import compare
    from spacil.config.penalty_terms import register_penalty
    from spacil.demos.demonstrations import Demonstrations
    from spacil.demos.file import load_demos, save_demos
    from spacil.errors import SpacilError
    from spacil.export.export import export_policy
    from spacil.film.video import video
    from spacil.learning.smooth import smooth
    from spacil.measuring.diagnose import diagnose
    from spacil.measuring.measure import measure_smoothness
    from spacil.policies.open import load_expert, load_policy, save_policy
    from spacil.version import __version__

_HOMES = {
    "AIRL": "spacil.agents",
    "BC": "spacil.agents",
    "GAIL": "spacil.agents",
    "SPaCIL": "spacil.agents",
    "TRPO": "spacil.agents",
    "Demonstrations": "spacil.demos.demonstrations",
    "compare": "spacil.comparison.comparison",
    "attach_penalty": "spacil.attach.penalty",
    "attach_to_rsl_rl": "spacil.attach.rsl_rl",
    "attach_to_sb3": "spacil.attach.sb3",
    "diagnose": "spacil.measuring.diagnose",
    "export_policy": "spacil.export.export",
    "load_demos": "spacil.demos.file",
    "save_demos": "spacil.demos.file",
    "load_expert": "spacil.policies.open",
    "load_policy": "spacil.policies.open",
    "measure_smoothness": "spacil.measuring.measure",
    "register_penalty": "spacil.config.penalty_terms",
    "save_policy": "spacil.policies.open",
    "smooth": "spacil.learning.smooth",
    "SpacilError": "spacil.errors",
    "video": "spacil.film.video",
    "__version__": "spacil.version",
}

__all__ = [
    "AIRL",
    "BC",
    "GAIL",
    "TRPO",
    "Demonstrations",
    "SPaCIL",
    "SpacilError",
    "__version__",
    "attach_penalty",
    "attach_to_rsl_rl",
    "attach_to_sb3",
    "compare",
    "diagnose",
    "export_policy",
    "load_demos",
    "load_expert",
    "load_policy",
    "measure_smoothness",
    "register_penalty",
    "save_demos",
    "save_policy",
    "smooth",
    "video",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'spacil' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
