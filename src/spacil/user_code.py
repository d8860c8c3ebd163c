"""Code of a user's own, named as `module:name`: imported because somebody typed it.

No file may decide what code is imported. A module that was typed once on this machine is therefore
remembered by the path of its file, in the user's state folder and never beside a run: a run that
names it later needs no flag, and a run folder from elsewhere cannot bring code along.
"""

import importlib
import importlib.machinery
import logging
import os
import sys
from pathlib import Path
from types import ModuleType

from spacil.errors import ConfigError, SpacilError

_MAX_REMEMBERED = 1_000

_logger = logging.getLogger(__name__)


def import_typed(name: str) -> tuple[ModuleType, str]:
    """The module of a typed `module:name`, and what follows the colon.

    The working folder is searched first while the module is imported.
    """
    module_name, _, rest = name.partition(":")
    sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ConfigError(
            f"{name}: cannot import {module_name!r}: {error}; run the command in the folder of "
            f"{module_name.split('.')[0]}.py, or put that folder on PYTHONPATH"
        ) from error
    except Exception as error:
        raise ConfigError(
            f"{name}: importing {module_name!r} raised {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.path.remove("")
    _remember(module_name)
    return module, rest


def keep_working_folder() -> None:
    """Search it last from now on, for what the user's code imports when it runs."""
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.append(folder)


def is_known(name: str) -> bool:
    """Whether the module of `module:name` was typed on this machine before, or is loaded anyway."""
    module_name = name.partition(":")[0]
    if module_name in sys.modules:
        return True
    file = _file_of(module_name)
    return file is not None and file in _remembered()


def known_folder(name: str) -> Path | None:
    """Where a typed module that is not found from here was; None if it is here, or nowhere."""
    top = name.partition(":")[0].split(".")[0]
    if _file_of(top) is not None:
        return None
    for file in map(Path, reversed(_remembered())):
        is_package = file.name == "__init__.py"
        if (file.parent.name if is_package else file.stem) == top and file.is_file():
            return file.parent.parent if is_package else file.parent
    return None


def known_modules_file() -> Path:
    """Where typed modules are remembered, after the XDG base directories."""
    home = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    return Path(home) / "spacil" / "known_modules.json"


def _file_of(module_name: str) -> str | None:
    """The file of a module's outermost package, found without importing anything."""
    top = module_name.split(".")[0]
    spec = importlib.machinery.PathFinder.find_spec(top, [str(Path.cwd()), *sys.path])
    if spec is None or spec.origin is None or not spec.has_location:
        return None
    return str(Path(spec.origin).resolve())


def _remembered() -> list[str]:
    from spacil import storage

    file = known_modules_file()
    try:
        match storage.read_json(file) if file.is_file() else None:
            case {"modules": list(files)}:
                return [path for path in files if isinstance(path, str)]
    except (SpacilError, OSError) as error:
        _logger.debug("known modules cannot be read: %s", error)
    return []


def _remember(module_name: str) -> None:
    """Without a state folder to write to, a run that names the module asks for --task again."""
    from spacil import storage

    file, known = _file_of(module_name), _remembered()
    if file is None or file in known:
        return
    target = known_modules_file()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        storage.write_json(target, {"modules": [*known, file][-_MAX_REMEMBERED:]})
    except (SpacilError, OSError) as error:
        _logger.debug("%s is not remembered: %s", file, error)
