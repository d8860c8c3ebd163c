"""The tables of docs/results/speed.md from docs/results/speed.json.

Text outside the marked part of the page is left alone.

    python benchmarks/tables.py
"""

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from measuring import RESULTS

PAGE = RESULTS.with_suffix(".md")
BEGIN, END = "<!-- tables: begin (make bench writes this part) -->", "<!-- tables: end -->"

Rows = list[dict[str, Any]]


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def simulation(rows: Rows) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row["others"]))

    def over_floor(row: dict[str, Any]) -> str:
        ratios = [rate / floor for rate, floor in zip(row["ours"], row["floor"], strict=True)]
        return f"{statistics.median(ratios):.2f} ({_range(ratios)})"

    def beside(row: dict[str, Any], name: str) -> str:
        if name not in row["others"]:
            return ""
        rates = row["others"][name]
        times = statistics.median(o / r for o, r in zip(row["ours"], rates, strict=True))
        return f"{statistics.median(rates):,.0f} ({times:.1f}x)"

    return table(
        (
            *("task", "envs", "threads", "steps/s", "floor", "over the floor"),
            *(f"{name} (ours over it)" for name in names),
        ),
        [
            (
                *(row["task"], row["num_envs"], row["num_threads"]),
                *(f"{statistics.median(row[side]):,.0f}" for side in ("ours", "floor")),
                over_floor(row),
                *(beside(row, name) for name in names),
            )
            for row in rows
        ],
    )


def iteration(rows: Rows) -> str:
    summary = table(
        ("algorithm", "task", "steps", "seconds", "floor: simulation + products", "ratio", "range"),
        [
            (
                row["algorithm"],
                row["task"],
                f"{row['steps']:,}",
                f"{row['ours']:.2f}",
                f"{row['simulation']:.2f} + {row['products']:.2f}",
                f"{row['ratio']:.2f}",
                _range(row["ratios"]),
            )
            for row in rows
        ],
    )
    stages = list(dict.fromkeys(stage for row in rows for stage in row["stages"]))
    split = table(
        ("milliseconds", *(f"{row['algorithm']} {row['task']}" for row in rows)),
        [
            (stage, *(f"{1e3 * row['stages'].get(stage, 0):.0f}" for row in rows))
            for stage in stages
        ],
    )
    return f"{summary}\n\n{split}"


def gpu_update(rows: Rows) -> str:
    stages = list(rows[0]["milliseconds"])
    return table(
        ("task", "batch", "device", "threads", *(f"{stage}, ms" for stage in stages)),
        [
            (
                *(row["task"], f"{row['batch']:,}", row["device"], row["threads"]),
                *(f"{row['milliseconds'][stage]:.1f}" for stage in stages),
            )
            for row in rows
        ],
    )


def growth(rows: Rows) -> str:
    return table(
        ("factor", "size", "processor seconds", "megabytes", "exponent at the large end"),
        [
            (
                row["factor"],
                f"{row['size']:,}",
                f"{row['processor']:.2f}",
                f"{row['megabytes']:.0f}" if "megabytes" in row else "",
                f"{row['exponent']:.2f}",
            )
            for row in rows
        ],
    )


def startup(rows: dict[str, float]) -> str:
    names = {
        "python": "an empty Python, s",
        "import": "`import spacil`, s",
        "help": "`spacil --help`, s",
        "whole_command": "`spacil train gail --iterations 1`, whole command, s",
        "iteration_and_evaluation": "of it the iteration and its evaluation, s",
        "expert_peak_megabytes": "peak memory of the Ant expert's run, MB",
    }
    return table(
        ("what", "measured"),
        [(name, f"{rows[key]:.2f}") for key, name in names.items() if key in rows],
    )


def penalty_cost(rows: Rows) -> str:
    return table(
        ("task", "variant", "seconds", "over GAIL, clock", "processor time"),
        [
            (
                *(row["task"], row["variant"], f"{row['seconds']:.2f}"),
                *(f"{row[key]:+.1%}" for key in ("of_iteration", "of_processor_time")),
            )
            for row in rows
        ],
    )


def peer(rows: Rows) -> str:
    return table(
        ("peer's envs", "ours", "ours, steps/s", "peer, steps/s", "ratio", "range"),
        [
            (
                row["kind"],
                row["variant"],
                f"{row['ours']:,.0f}",
                f"{row['theirs']:,.0f}",
                f"{row['ratio']:.2f}",
                _range(row["ratios"]),
            )
            for row in rows
        ],
    )


def time_to_smooth(rows: Rows) -> str:
    return table(
        ("task", "seed", "iterations", "seconds", "processor seconds", "return", "J", "reached"),
        [
            (
                *(row["task"], row["seed"], row["iterations"], f"{row['seconds']:.0f}"),
                f"{row['processor_seconds']:.0f}",
                *(f"{row['average_return']:.4g}", f"{row['j']:.2f}"),
                "yes" if row["is_reached"] else "no",
            )
            for row in rows
        ],
    )


def peer_time_to_return(rows: Rows) -> str:
    def told(side: dict[str, Any] | None) -> str:
        if side is None:  # not run beside this seed
            return ""
        prefix = "" if side["reached"] else "not in "
        return f"{prefix}{side['seconds']:.0f} s, {side['rounds']} rounds"

    names = list(rows[0]["sides"])
    return table(
        ("seed", *(name if name == "peer" else f"ours, {name}" for name in names)),
        [(row["seed"], *(told(row["sides"][name]) for name in names)) for row in rows],
    )


SECTIONS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "simulation": ("Simulation", simulation),
    "iteration": ("One iteration", iteration),
    "penalty_cost": ("What the penalties add", penalty_cost),
    "peer": ("Beside imitation and sb3-contrib", peer),
    "peer_time_to_return": ("Training time to the wanted return", peer_time_to_return),
    "time_to_smooth": ("Training time to a smooth expert", time_to_smooth),
    "gpu_update": ("The update and the whole iteration, by device", gpu_update),
    "growth": ("Growth", growth),
    "startup": ("Start-up and memory", startup),
}


def render(document: Mapping[str, Any]) -> str:
    parts = []
    for section, (title, make) in SECTIONS.items():
        if section in document:
            found = document[section]
            parts.append(f"## {title}\n{_machine(found['machine'])}\n\n{make(found['rows'])}")
    return "\n\n".join(parts)


def _machine(machine: Mapping[str, Any]) -> str:
    versions = ", ".join(
        f"{name} {machine[name]}" for name in ("python", "torch", "numpy", "mujoco", "gymnasium")
    )
    gpu = f", {machine['gpu']}" if machine["gpu"] else ""
    return f"{machine['cores']} cores of {machine['cpu']}{gpu}; {versions}; {machine['commit']}."


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


def write_page(results: Path, page: Path) -> None:
    document = json.loads(results.read_text(encoding="utf-8"))
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n{render(document)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    write_page(RESULTS, PAGE)
