"""Virtual environments for libraries of others that cannot share ours."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def python_with(requirements: Path, name: str, python: str) -> Path:
    """The interpreter of `.peer/NAME`, made by `python` when it or a requirement is missing."""
    folder = ROOT / ".peer" / name
    stamp, wanted = folder / "installed.txt", requirements.read_text()
    interpreter = folder / "bin" / "python"
    if stamp.exists() and stamp.read_text() == wanted:
        return interpreter
    print(f"installing {requirements.name} into {folder.relative_to(ROOT)}", flush=True)
    subprocess.run([python, "-m", "venv", folder], check=True)
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([interpreter, *install, "-r", requirements], check=True)
    stamp.write_text(wanted)
    return interpreter
