"""Learning curves of several runs side by side: return and smoothness, one line per seed.

    python -m spacil.report.comparison docs/results/imitation.json docs/figures/imitation.png

The JSON file lists runs: {"task", "label", "seed", "evaluations": [{"iteration", ...}]}.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spacil import storage
from spacil.report.plain_figures import plain_style, subplots

COLOURS = ("#c8553d", "#1f6f8b", "#7d8491", "#d9a441", "#588157", "#6d597a")


@plain_style()
def draw_comparison(
    runs: Sequence[Mapping[str, Any]],
    path: Path,
    labels: Sequence[str],
    demonstrators: Mapping[str, float],
) -> None:
    """One column per task: return above, J (common frame) below; one colour per label."""
    tasks = list(dict.fromkeys(run["task"] for run in runs))
    figure, axes = subplots(2, len(tasks), figsize=(5 * len(tasks), 6), sharex="col", squeeze=False)
    for column, task in enumerate(tasks):
        upper, lower = axes[:, column]
        for label, colour in zip(labels, COLOURS, strict=False):
            chosen = [run for run in runs if (run["task"], run["label"]) == (task, label)]
            for i, run in enumerate(chosen):
                evaluations = run["evaluations"]
                iterations = [row["iteration"] for row in evaluations]
                seeds = "1 seed" if len(chosen) == 1 else f"{len(chosen)} seeds"
                name = f"{label} ({seeds})" if i == 0 else None
                for axis, key in ((upper, "average_return"), (lower, "smoothness_j_common")):
                    values = [row[key] for row in evaluations]
                    axis.plot(iterations, values, color=colour, linewidth=1.2, label=name)
        upper.axhline(demonstrators[task], color="#444", linestyle="--", linewidth=1)
        upper.set_title(task)
        upper.legend(frameon=False, fontsize=8)
        lower.set_ylim(bottom=0)
        lower.set_xlabel("iteration")
    axes[0, 0].set_ylabel("return G (dashed: demonstrator)")
    axes[1, 0].set_ylabel("J, common frame (lower is smoother)")
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.2)
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def main(source: str, picture: str) -> None:
    document = storage.read_json(Path(source))
    draw_comparison(
        document["runs"], Path(picture), document["shown"], document["demonstrator_returns"]
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
