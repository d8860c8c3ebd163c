"""Every file that spacil reads, spoilt in every way: a typed refusal or a result, no traceback.

    python tests/support/fuzz.py 3000 --seed 1

Damage goes to bytes, and to single values of JSON under an intact surface. The commands are real.
"""

import argparse
import contextlib
import io
import json
import random
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from corrupted_files import BYTE_DAMAGE, JSON_DAMAGE, Rng, copy_of
from generated_runs import write_run
from tiny_runs import tiny

import spacil
from spacil.cli.main import main as command_line
from spacil.sweeps.folder import open_sweep
from spacil.sweeps.plan import Grid, assignment

CODES = {0, 2, 3, 65, 69, 70, 73, 74, 75}
MAX_SECONDS = 60.0
VALUES = (None, True, False, -1, 0, 0.5, 1e308, 2**70, 10**400, "", "x", "12.5", "../etc", [], {})
HOSTILE = ("\x1b]0;x\x07", "a\nb", "\ud800", "os:abort", "%s{}", [[]], {"": None}, "0-999999999")
READERS = """
    8 run **/run.json: compare GOOD
    8 run **/metrics.jsonl: compare GOOD
    2 run **/*.json*: report GOOD -o page.html --no-videos --overwrite
    6 run **/*.json*: resume GOOD/seed0
    2 run **/*.safetensors: resume GOOD/seed0
    4 run **/*.safetensors: evaluate GOOD/seed0 --episodes 1
    4 run **/run.json: train --config GOOD/seed0/run.json --task Nothing-v0
    8 sweep **/*.json*: sweep status GOOD
    4 sweep **/*.json: sweep -o GOOD --list
    4 sweep **/*.json*: compare GOOD
    4 policy *: evaluate GOOD/p.safetensors --episodes 1
    4 demos *: demos check GOOD/d.demos.safetensors
    4 plan *: sweep GOOD/plan.json -o new --list
    2 result *: tasks --json GOOD/r.json
    1 foreign d.npz: demos check GOOD/d.npz
    1 foreign d.csv: demos check GOOD/d.csv
    1 foreign d.hdf5: demos check GOOD/d.hdf5
    1 onnx policy.onnx: smoothness GOOD/policy.onnx --episodes 1
"""
"""How often, folder, files to spoil, and a command that reads them; a child that parses is slow."""


def spoilt_value(content: bytes, rng: Rng) -> bytes:
    """One line of JSON with a value replaced or removed."""
    lines = content.split(b"\n") if content.count(b"\n{") else [content]
    index = rng.randrange(len(lines))
    at: Any = [json.loads(lines[index])]
    whole, key = at, 0
    while isinstance(at[key], dict | list) and at[key] and (at is whole or rng.random() < 0.7):
        at = at[key]
        key = rng.choice(list(at) if isinstance(at, dict) else range(len(at)))
    if rng.random() < 0.2 and at is not whole:
        del at[key]
    else:
        at[key] = rng.choice(VALUES + HOSTILE)
    lines[index] = json.dumps(whole[0]).encode()
    return b"\n".join(lines)


def prepare(folder: Path) -> None:
    agent = spacil.GAIL("Reacher-v4", **tiny(iterations=2))
    agent.learn(run_dir=folder / "run" / "seed0")
    spacil.export_policy(agent, folder / "onnx", episodes=0, num_checked=100)
    grid = Grid(("gail",), ("Hopper-v4",), (0, 1), (assignment("iterations=20"),))
    sweep = open_sweep(folder / "sweep", [grid], 150)
    for run in sweep.runs():
        write_run(sweep.run_dir(run), seed=run.seed)
    sweep.record_failure(sweep.runs()[1], 70, "diverged")
    for name in ("demos", "foreign", "plan", "policy", "result"):
        (folder / name).mkdir()
    spacil.save_policy(agent, folder / "policy" / "p.safetensors")
    demos = spacil.load_demos("Reacher-v4").first(3)
    for file in ("demos/d.demos.safetensors", "foreign/d.npz", "foreign/d.csv", "foreign/d.hdf5"):
        spacil.save_demos(demos, folder / file)
    plan = {"algorithms": ["gail"], "tasks": ["Reacher-v4"], "seeds": [0, 1], "set": {"gamma": [1]}}
    (folder / "plan" / "plan.json").write_text(json.dumps(plan))
    (folder / "result" / "r.json").write_text(json.dumps({"spacil_version": "0", "rows": [1]}))


def outcome(words: list[str]) -> str:
    """The exit code of a command; what it printed where it may not end or print like that."""
    printed, started, code = io.StringIO(), time.monotonic(), None
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            command_line(words)
        except SystemExit as ending:
            code = ending.code or 0
        except BaseException:
            traceback.print_exc()
    said = printed.getvalue()
    is_printable = all(char.isprintable() or char == "\n" for char in said)
    is_fine = code in CODES and is_printable and "Traceback" not in said
    return str(code) if is_fine and time.monotonic() - started < MAX_SECONDS else said[-3000:]


def campaign(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Exit codes of so many spoilt copies, and what went wrong."""
    codes, faults, rng = Counter[str](), list[str](), random.Random(seed)
    readers = [line.split(maxsplit=2) for line in READERS.strip().splitlines()]
    of_json = [*JSON_DAMAGE.values(), *[spoilt_value] * 12]
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        prepare(Path("good"))
        for _ in range(count):
            _, folder, rest = rng.choices(readers, [int(often) for often, *_ in readers])[0]
            files, _, command = rest.partition(": ")
            copied = copy_of(Path("good") / folder, Path("copy"))
            victim = rng.choice(sorted(path for path in copied.glob(files) if path.is_file()))
            content, is_json = victim.read_bytes(), ".json" in victim.name and rng.random() < 0.8
            damage = rng.choice(of_json if is_json else list(BYTE_DAMAGE.values()))
            with contextlib.suppress(ValueError):  # some ask for one document in a file
                victim.write_bytes(content := damage(content, rng))
            found = outcome(command.replace("GOOD", "copy").split())
            codes[found if found.isdecimal() else "fault"] += 1
            if not found.isdecimal():
                faults.append(f"{command}: {victim.name} {content[:3000]!r}\n{found}")
    return codes, faults


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts, failed = campaign(options.count, options.seed)
    print(*failed, f"{options.count} spoilt files: {dict(counts)}", sep="\n\n")
