"""How often `spacil diagnose` names the fault that was seeded into a recording.

python experiments/recordings.py [--split tuning] [--processes 2]   # document and page
"""

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro

import spacil
from pages import RESULTS
from seeded_faults import FAULTS, SPLITS, record
from spacil import storage
from spacil.cli.output import identity

EACH = 20
CAUSE_OF = {"dead-band": "quantisation"}
NAMES = (
    *("timing", "latency", "chunk-seams", "limit-cycle", "quantisation", "saturation"),
    *("sensor-noise", "rough-policy", "tremor", "healthy", "unknown"),
)
TWO = [pair for pair in combinations(FAULTS, 2) if not {"quantisation", "dead-band"} >= set(pair)]


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Diagnose recordings with known faults and count."""

    split: Literal["tuning", "test"] = "test"
    """Which half: constants were chosen on tuning, the page is of test."""
    each: int = EACH
    """Number of recordings of each fault, and a third of those of healthy ones and of pairs."""
    processes: int = 2
    """Number of processes."""
    out: Path = RESULTS
    """Folder of the document and the page."""


def plan(each: int) -> list[tuple[tuple[str, ...], int]]:
    """Faults and number of every recording; a part of the plan is a smaller benchmark."""
    jobs: list[tuple[tuple[str, ...], int]] = []
    for k in range(each):
        jobs += [((fault,), k) for fault in FAULTS]
        jobs += [((), 3 * k + part) for part in range(3)]
        jobs += [(TWO[7 * (3 * k + part) % len(TWO)], 3 * k + part) for part in range(3)]
    return jobs


def diagnosed(split: str, job: tuple[tuple[str, ...], int]) -> dict[str, Any]:
    faults, number = job
    places = [FAULTS.index(fault) for fault in faults]
    made = record(
        faults, SPLITS[split], np.random.default_rng([SPLITS[split].seed, *places, 100, number])
    )
    found = spacil.diagnose_recording(
        made.arrays, rate=None if "time" in made.arrays else made.rate
    )
    off = None if found.latency_s is None else (found.latency_s - made.latency_s) * made.rate
    return {
        "faults": list(faults),
        "number": number,
        "found": [[cause.cause, cause.share] for cause in found.causes],
        "latency_error_rows": off,
        "rate": made.rate,
        "details": made.details,
    }


def counted(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The four numbers that are asked for, and how faults and first causes go together."""
    matrix: dict[str, Counter[str]] = {}
    for row in rows:
        if len(row["faults"]) < 2:
            name = row["faults"][0] if row["faults"] else "healthy"
            matrix.setdefault(name, Counter())[row["found"][0][0]] += 1
    right = {name: counts[CAUSE_OF.get(name, name)] for name, counts in matrix.items()}
    late = [row for row in rows if row["faults"] == ["latency"]]
    close = [
        row
        for row in late
        if row["latency_error_rows"] is not None and abs(row["latency_error_rows"]) <= 0.5
    ]
    two = [row for row in rows if len(row["faults"]) == 2]
    both = [
        row
        for row in two
        if {CAUSE_OF.get(f, f) for f in row["faults"]} <= {cause for cause, _ in row["found"][:3]}
    ]
    num_seeded = sum(sum(matrix[fault].values()) for fault in FAULTS)
    return {
        "right_cause_first": sum(right[fault] for fault in FAULTS) / num_seeded,
        "healthy_flagged": 1 - right["healthy"] / sum(matrix["healthy"].values()),
        "latency_within_half_a_row": len(close) / len(late),
        "two_causes_in_first_three": len(both) / len(two),
        "num_seeded": num_seeded,
        "num_healthy": sum(matrix["healthy"].values()),
        "num_latency": len(late),
        "num_two": len(two),
        "matrix": {name: dict(counts) for name, counts in matrix.items()},
    }


def page_of(document: dict[str, Any]) -> str:
    counts = document["counts"]
    asked = [
        ("right cause first", "right_cause_first", ">= 90 %", "num_seeded"),
        ("healthy recordings flagged", "healthy_flagged", "<= 2 %", "num_healthy"),
        ("latency within half a row", "latency_within_half_a_row", ">= 95 %", "num_latency"),
        (
            "both of two causes among the first three",
            "two_causes_in_first_three",
            ">= 80 %",
            "num_two",
        ),
    ]
    lines = [
        "# Causes of shaking, from recordings alone",
        "",
        f"Recordings of the {document['split']} half of `experiments/seeded_faults.py`: motions "
        f"{', '.join(document['motions'])}, {', '.join(map(str, document['rates']))} rows a "
        "second, "
        f"{', '.join(map(str, document['joints']))} joints. The constants of the diagnosis were "
        "chosen on "
        "the other half, whose motions, rates, numbers of joints and seeds are others. Each fault "
        "is "
        "seeded where it arises in a robot (clock, command, servo, encoder); a shake is at least "
        "as "
        "strong in acceleration as the motion under it, for that is what a person sees.",
        "",
        f"Made by `python experiments/recordings.py --split {document['split']} --each "
        f"{document['each']}`; every "
        "recording: [recordings.json](recordings.json).",
        "",
        "| | measured | asked for | recordings |",
        "| --- | ---: | ---: | ---: |",
        *(
            f"| {what} | {counts[key]:.1%} | {limit} | {counts[n]} |"
            for what, key, limit, n in asked
        ),
        "",
        "## First cause, by seeded fault",
        "",
        f"| seeded | {' | '.join(NAMES)} |",
        f"| --- | {' | '.join(['---:'] * len(NAMES))} |",
    ]
    for fault in (*FAULTS, "healthy"):
        cells = (counts["matrix"][fault].get(name, 0) or "" for name in NAMES)
        lines.append(f"| {fault} | {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, "", *document["remarks"], ""])


def main(parsed: Arguments) -> None:
    split = SPLITS[parsed.split]
    with ProcessPoolExecutor(parsed.processes) as pool:
        rows = list(pool.map(partial(diagnosed, parsed.split), plan(parsed.each)))
    document = {
        **identity(),
        "split": parsed.split,
        "each": parsed.each,
        "motions": split.motions,
        "rates": split.rates,
        "joints": split.joints,
        "counts": counted(rows),
        "remarks": [],
        "recordings": rows,
    }
    plain = storage.without_non_finite(document)
    name = "recordings" if parsed.split == "test" else "recordings_tuning"
    storage.write_json(parsed.out / f"{name}.json", plain)
    storage.replace_file(parsed.out / f"{name}.md", page_of(plain).encode())
    print({k: v for k, v in document["counts"].items() if k != "matrix"})


if __name__ == "__main__":
    main(tyro.cli(Arguments))
