"""What shared fixtures of the conftest files give, for the signatures of tests."""

from collections.abc import Callable
from typing import Any

from command_processes import Finished

from spacil.demos.demonstrations import Demonstrations

Spacil = Callable[..., Finished]
Train = Callable[..., Finished]
Tiny = Callable[..., dict[str, Any]]
TinyFlags = Callable[..., list[str]]
MakeDemos = Callable[..., Demonstrations]
