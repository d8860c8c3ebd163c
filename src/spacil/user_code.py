"""Code of a user's own, named as `module:name`: imported because somebody typed it.

No file decides what code is imported or called. A name in one is an id that is registered already,
or the user types the same name in the same command or call. Nothing is remembered between two.
"""

import importlib
import shlex
import sys
from collections.abc import Collection
from types import ModuleType

from spacil.errors import ConfigError, DataError
from spacil.plain_text import shown


def import_typed(name: str) -> tuple[ModuleType, str]:
    """Import the module of a typed `module:name`; returns it, and what follows the colon.

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
    return module, rest


def task_named_in_file(
    task: str, file: object, typed: Collection[str] = (), command: str = ""
) -> str:
    """Return the task that a file names; refuse code, unless the user typed the same name.

    `command`: what the user typed, as far as the remedy repeats it.
    """
    if ":" in task and task not in typed:
        remedy = f"{command} --task {shlex.quote(shown(task))}".strip()
        raise DataError(
            f"{file} names the task {shown(repr(task))}, which is code: expected an id that "
            "Gymnasium or spacil knows, because no file decides what is imported; if you trust "
            f"that code, type it: {remedy}"
        )
    return task
