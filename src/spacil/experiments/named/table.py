"""The experiments by name: what each shows, and where it is. Imported on use."""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacil.experiments.named.experiment import NamedExperiment

NAMED: Mapping[str, tuple[str, str]] = {
    "returns": ("paper.returns:RETURNS", "return and smoothness of every method on five tasks"),
    "curves": ("paper.curves:CURVES", "learning and evaluation curves of those runs"),
    "recipe": ("recipe:RECIPE", "the default on whole and scarce demonstrations, and its ablation"),
    "perturbation": (
        "paper.perturbation:PERTURBATION",
        "noise on the parameters of the best policies: return and J",
    ),
    "lambda-grid": ("paper.lambda_grid:LAMBDA_GRID", "weights of both penalties on Hopper"),
    "cost-smoothness": (
        "paper.cost_smoothness:COST_SMOOTHNESS",
        "Lipschitz constants of the learned cost, beside J",
    ),
    "mixing": ("paper.mixing:MIXING", "four readings of where the cost penalty is measured"),
    "demonstrators": (
        "paper.demonstrators:DEMONSTRATORS",
        "imitators of a rough and of a smooth demonstrator",
    ),
    "claims": ("paper.claims:CLAIMS", "each claim of the paper, answered with a number of ours"),
}
"""Name -> `module:object` below this package, and what help says"""


def page_of(name: str) -> str:
    """The stem of an experiment's files."""
    return named_experiment(name).page or name


def named_experiment(name: str) -> "NamedExperiment":
    module, _, attribute = NAMED[name][0].partition(":")
    found: NamedExperiment = getattr(
        importlib.import_module(f"spacil.experiments.named.{module}"), attribute
    )
    return found
