"""Draw docs/figures/recipe.png: return and J of spacil's default beside GAIL, from recipe.json."""

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "recipe.json"
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "recipe.png"
TASKS = ("Hopper-v4", "Walker2d-v4", "HalfCheetah-v4", "Ant-v4", "Reacher-v4")
DATA = ("whole", "every 20th step")
COLORS = {"gail-like": "#8a8f98", "default": "#0b6e4f"}
LABELS = {"gail-like": "GAIL, same start and cost penalty", "default": "spacil, default"}


def values(runs: list[dict[str, Any]], task: str, data: str, setting: str, key: str) -> list[float]:
    return [
        run["last"][key]
        for run in runs
        if (run["task"], run["data"], run["setting"]) == (task, data, setting)
    ]


def draw(document: dict[str, Any]) -> None:
    """A row for whole and one for scarce demonstrations; left the share of return, right J."""
    runs, randoms = document["runs"], document["random_returns"]
    figure, axes = plt.subplots(2, 2, figsize=(11, 5.4), layout="constrained")
    for row, data in zip(axes, DATA, strict=True):
        tasks = [task for task in TASKS if values(runs, task, data, "default", "smoothness_j")]
        for place, task in enumerate(tasks):
            gail = np.mean(values(runs, task, data, "gail-like", "average_return"))
            rough = np.mean(values(runs, task, data, "gail-like", "smoothness_j"))
            for setting, side in (("gail-like", -0.19), ("default", 0.19)):
                returns = np.array(values(runs, task, data, setting, "average_return"))
                shares = 100 * (returns - randoms[task]) / (gail - randoms[task])
                ratios = np.array(values(runs, task, data, setting, "smoothness_j")) / rough
                for axis, found in zip(row, (shares, ratios), strict=True):
                    color, x = COLORS[setting], place + side
                    label = LABELS[setting] if place == 0 else None
                    axis.bar(x, found.mean(), 0.36, color=color, alpha=0.75, label=label)
                    axis.plot(np.full(len(found), x), found, "o", color="black", markersize=2.5)
        row[0].set_ylabel(f"{data}\nreturn, % of GAIL's")
        row[1].set_ylabel("J / GAIL's J")
        for axis in row:
            axis.set_xticks(range(len(tasks)), [task.removesuffix("-v4") for task in tasks])
            axis.spines[["top", "right"]].set_visible(False)
        row[0].set_ylim(0, 115)
    axes[0, 1].legend(frameon=False, loc="upper center", ncols=2, bbox_to_anchor=(0.5, 1.22))
    figure.savefig(FIGURE, dpi=130)


if __name__ == "__main__":
    draw(json.loads(RESULTS.read_text())["tier_1"])
