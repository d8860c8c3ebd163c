"""Each claim of the paper, answered with numbers from the results of the other experiments."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from spacil.experiments.named import recipe_runs
from spacil.experiments.named.experiment import Gathered, NamedExperiment
from spacil.experiments.named.outcome import Outcome, Table
from spacil.experiments.named.paper.evidence import (
    LEARNED,
    ROBUST_SHARE,
    VERY_HIGH,
    Claim,
    Results,
    above_demonstrator,
    are_both_needed,
    better_return,
    cost_only_is_best_and_rough,
    faster,
    in_ablation,
    is_cost_only_best_and_rough,
    j_scaled,
    larger_gain_in_high_dimensions,
    lower_spread,
    robust_to_small_noise,
    smooth_whatever_the_demonstrator,
    smoother,
    steadier_training,
    where_learned,
)
from spacil.experiments.named.recipe_runs import SOURCE
from spacil.experiments.named.table import page_of

READS = ("returns", "curves", "perturbation", "lambda-grid", "demonstrators", "recipe")
PAIRS = {"as printed": ("spacil paper-mean", "gail paper-mean"), "our default": ("spacil", "gail")}
"""Who is compared: SPaCIL's setting and the GAIL it belongs to"""
BESIDE = "our default, beside gail-like"
"""The default and the GAIL of ratios, from the runs of recipe.json"""


@dataclass(frozen=True)
class Answer:
    """One claim for one setting; keys are stable."""

    claim: str
    setting: str
    answer: str
    """holds, does not hold, holds on K of N tasks, or not measured"""
    evidence: str


PER_PAIR: Mapping[str, Claim] = {
    "SPaCIL's return is better than GAIL's on all tasks": better_return,
    "better than the demonstrator on Hopper, Walker2d, HalfCheetah": above_demonstrator,
    "SPaCIL is smoother than GAIL on all tasks": smoother,
    "lower variance of the return across runs": lower_spread("G"),
    "lower variance of J across runs": lower_spread("J"),
    "GAIL's rough policies have more variable training curves": steadier_training,
    "faster learning": faster,
    "larger gain in high dimensions": larger_gain_in_high_dimensions,
}
ONCE: Mapping[str, tuple[str, Claim]] = {
    "smooth however smooth the demonstrator is": ("our default", smooth_whatever_the_demonstrator),
    "robust to small parameter noise": ("our default", robust_to_small_noise),
    "J is very high at noise 0.1": ("our default", j_scaled(0.1, VERY_HIGH)),
    "J rises at noise 0.001 (the paper's table, against its text)": (
        "our default",
        j_scaled(0.001, 1.0),
    ),
    "cost smoothing alone has the highest return and is rough": (
        "printed units",
        cost_only_is_best_and_rough("printed"),
    ),
    "cost smoothing alone has the highest return and is rough (ours)": (
        "Lipschitz units",
        cost_only_is_best_and_rough("lipschitz"),
    ),
}
OF_ABLATION: Mapping[str, Claim] = {
    "cost smoothing alone has the highest return and is rough (the rule)": in_ablation(
        is_cost_only_best_and_rough
    ),
    "both penalties are needed": in_ablation(are_both_needed),
}
"""Of `spacil experiment recipe`, and of the recorded runs where that has not been run"""


def answers(results: Results) -> list[Answer]:
    """Every claim, for every setting it is asked of."""
    recorded = recipe_runs.as_results(results[SOURCE]) if SOURCE in results else {}
    asked = [(setting, results, pair) for setting, pair in PAIRS.items()]
    asked.append((BESIDE, recorded, (recipe_runs.DEFAULT, recipe_runs.GAIL_LIKE)))
    found = [
        _of_pair(claim, setting, documents, pair)
        for claim in PER_PAIR
        for setting, documents, pair in asked
    ]
    found += [
        Answer(claim, setting, *answer(results, "", ""))
        for claim, (setting, answer) in ONCE.items()
    ]
    documents = results if "recipe" in results else recorded
    found += [
        Answer(claim, "our default", *answer(documents, "", ""))
        for claim, answer in OF_ABLATION.items()
    ]
    return found


def _of_pair(claim: str, setting: str, results: Results, pair: tuple[str, str]) -> Answer:
    """One claim of one pair, on the tasks that its GAIL has learned."""
    learned, left_out = where_learned(results, pair[1])
    answer, evidence = PER_PAIR[claim](learned, *pair)
    if evidence and left_out and PER_PAIR[claim] is not above_demonstrator:
        evidence += f"; GAIL has not learned {', '.join(left_out)}"
    return Answer(claim, setting, answer, evidence)


def analyse(gathered: Gathered) -> Outcome:
    found = answers(gathered.results)
    missing = [f"{page_of(name)}.json" for name in READS if name not in gathered.results]
    return Outcome(
        title="The paper's claims, answered",
        text=(
            "Computed from the documents of the other experiments in this folder. `as printed` "
            "compares the preset paper-mean with GAIL of the same discriminator, `our default` the "
            "default with plain GAIL, `our default, beside gail-like` with GAIL of the same start, "
            f"critic and cost penalty (whole demonstrations, the runs of [{SOURCE}]({SOURCE})). n "
            "are seeds of ours and of GAIL's; noise is on one policy per task. Policies are the "
            "best ones of their runs, but last ones of the default and of gail-like; evaluations "
            "of these two are of the mean of the policies of many iterations, which makes their "
            "curves calmer. What starts untrained was stopped after the iterations that "
            "[returns](returns.md) names, before GAIL stands still on Walker2d and Ant: so `our "
            "default` gains most from its start there. A task counts where GAIL has learned it: "
            f"at least {100 * LEARNED:.0f} % of the demonstrator's return. "
            f"Robust: at least {100 * ROBUST_SHARE:.0f} % of the return "
            f"at noise 0.001; very high: more than {VERY_HIGH:g} times J. Both penalties are "
            "needed where both return more than the policy penalty alone at a lower J than the "
            "cost penalty alone."
        ),
        tables=[
            Table(
                "Claims",
                ["claim", "setting", "answer", "evidence"],
                [[one.claim, one.setting, one.answer, one.evidence or "-"] for one in found],
                num_words=4,
            )
        ],
        numbers={"answers": [asdict(one) for one in found], "read": sorted(gathered.results)},
        notes=[f"not there yet: {name}" for name in missing],
    )


CLAIMS = NamedExperiment(stages=(), analyse=analyse, reads=READS, reads_files=(SOURCE,))
