"""The lowest version of every dependency that pyproject.toml allows, as requirements for pip.

python tests/support/lowest_versions.py     # torch==2.10 numpy==2.0 ...
"""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement


def lowest(dependency: str) -> str:
    """`name>=1.2` -> `name==1.2`; a dependency without a lower bound promises too much."""
    requirement = Requirement(dependency)
    bounds = [part.version for part in requirement.specifier if part.operator == ">="]
    if len(bounds) != 1:
        raise SystemExit(f"{dependency}: expected one lower bound, found {len(bounds)}")
    return f"{requirement.name}=={bounds[0]}"


def main() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    print(" ".join(map(lowest, project["dependencies"])))


if __name__ == "__main__":
    main()
