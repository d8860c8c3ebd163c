"""One run of a sweep in this process: `spacil train`, then the fresh episodes.

    python -m spacil.cli.job EPISODES THREADS train ALGORITHM ...

Not for people. Standard input is a pipe of the sweep that started it: when that ends, the sweep is
gone, and the run saves and stops as on SIGTERM, so that no sweep leaves processes behind.
"""

import os
import signal
import sys
import threading
from pathlib import Path

from spacil.cli import main as spacil
from spacil.cli.arguments import value_of
from spacil.errors import SpacilError

_STANDARD_INPUT = 0


def main(arguments: list[str]) -> int:
    num_episodes, num_threads, *words = arguments
    threading.Thread(target=_stop_with_the_sweep, daemon=True).start()
    from spacil.runs.facts import RUN_FILE, read_run

    run_dir = Path(value_of("--run-dir", words) or "")
    if not (run_dir / RUN_FILE).is_file() or read_run(run_dir).status != "finished":
        try:
            spacil.main([*words, "--quiet"])
        except SystemExit as ending:
            if ending.code:
                return int(ending.code)
    if int(num_episodes) == 0:
        return 0
    try:
        from spacil.engine.device import torch_threads
        from spacil.sweeps.fresh_episodes import add_fresh_episodes

        with torch_threads(int(num_threads)):
            typed = [task] if (task := value_of("--task", words)) else []
            add_fresh_episodes(run_dir, int(num_episodes), int(num_threads), typed)
    except SpacilError as error:
        print(f"spacil: fresh episodes: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _stop_with_the_sweep() -> None:
    # Not sys.stdin: its lock would be held by this thread when the interpreter ends.
    while os.read(_STANDARD_INPUT, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
