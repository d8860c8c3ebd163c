"""spacil: smooth imitation learning.

    import spacil
    agent = spacil.SPaCIL("Hopper-v4", demonstrations=spacil.load_demos("Hopper-v4"))
    agent.learn(iterations=300)
    action = agent.predict(observation)

Names load on first use, so that `import spacil` stays quick.
"""

import importlib
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacil.agents import AIRL as AIRL
    from spacil.agents import BC as BC
    from spacil.agents import GAIL as GAIL
    from spacil.agents import TRPO as TRPO
    from spacil.agents import SPaCIL as SPaCIL
    from spacil.attach.penalty import attach_penalty as attach_penalty
    from spacil.attach.rsl_rl import attach_to_rsl_rl as attach_to_rsl_rl
    from spacil.attach.sb3 import attach_to_sb3 as attach_to_sb3
    from spacil.comparison.comparison import compare as compare
    from spacil.config.penalty_terms import register_penalty as register_penalty
    from spacil.demos.demonstrations import Demonstrations as Demonstrations
    from spacil.demos.file import load_demos as load_demos
    from spacil.demos.file import save_demos as save_demos
    from spacil.envs.rsl_rl import RslRlTask as RslRlTask
    from spacil.errors import SpacilError as SpacilError
    from spacil.export.export import export_policy as export_policy
    from spacil.film.page import page as page
    from spacil.film.video import video as video
    from spacil.learning.smooth import smooth as smooth
    from spacil.measuring.diagnose import diagnose as diagnose
    from spacil.measuring.measure import measure_smoothness as measure_smoothness
    from spacil.policies.open import load_expert as load_expert
    from spacil.policies.open import load_policy as load_policy
    from spacil.policies.open import save_policy as save_policy
    from spacil.recordings.diagnosis import diagnose_recording as diagnose_recording
    from spacil.version import __version__ as __version__

_NAMES = {
    "spacil.agents": ("AIRL", "BC", "GAIL", "SPaCIL", "TRPO"),
    "spacil.attach.penalty": ("attach_penalty",),
    "spacil.attach.rsl_rl": ("attach_to_rsl_rl",),
    "spacil.attach.sb3": ("attach_to_sb3",),
    "spacil.comparison.comparison": ("compare",),
    "spacil.config.penalty_terms": ("register_penalty",),
    "spacil.demos.demonstrations": ("Demonstrations",),
    "spacil.demos.file": ("load_demos", "save_demos"),
    "spacil.envs.rsl_rl": ("RslRlTask",),
    "spacil.errors": ("SpacilError",),
    "spacil.export.export": ("export_policy",),
    "spacil.film.page": ("page",),
    "spacil.film.video": ("video",),
    "spacil.learning.smooth": ("smooth",),
    "spacil.measuring.diagnose": ("diagnose",),
    "spacil.measuring.measure": ("measure_smoothness",),
    "spacil.policies.open": ("load_expert", "load_policy", "save_policy"),
    "spacil.recordings.diagnosis": ("diagnose_recording",),
    "spacil.version": ("__version__",),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'spacil' has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOMES[name]), name)
    if inspect.isfunction(found):
        from spacil.python_face import python_face

        found = python_face()(found)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
