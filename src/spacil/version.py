"""The version of the installed package; pyproject.toml is the one place that states it."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("spacil")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "unknown"
