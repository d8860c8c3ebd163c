"""`spacil evaluate RUN|POLICY`: return G and smoothness J, on fresh seeds."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from spacil.cli.arguments import Episodes, Json, PolicySource, UnderConditions
from spacil.cli.output import NOTHING_EARNED, identity, print_records, show, without_return
from spacil.plain_text import count, shown

if TYPE_CHECKING:
    from spacil.demos.common_frame import CommonFrame
    from spacil.measuring.evaluate import Evaluation
    from spacil.policies.policy import Policy
    from spacil.runs.facts import DemonstratorRow


@dataclass(frozen=True, kw_only=True)
class Arguments(PolicySource, Episodes, UnderConditions, Json):
    """Return G and smoothness J of a trained policy, with mean actions and fresh seeds."""

    demos: str | None = None
    """Demonstrations that define the common frame of J; by default the frame kept with the
    policy, else the task's bundled ones."""
    keep: bool = False
    """Keep so many episodes of the run's best and last policy, from the start states of seed 0, as
    its fresh ones, by which `spacil compare` and `spacil report` go."""


def run(parsed: Arguments) -> int:
    from spacil.demos.conditions import under_conditions
    from spacil.demos.file import load_demos
    from spacil.measuring.evaluate import evaluate_afresh, pays_nothing
    from spacil.measuring.frames import choose_frame, frame_facts
    from spacil.measuring.imitation_score import DemonstratedStates, shown_to
    from spacil.policies.open import load_policy
    from spacil.policies.policy import task_of

    policy = load_policy(parsed.source, parsed.which)
    task = parsed.task or task_of(policy)
    if parsed.keep:
        from spacil.sweeps.fresh_episodes import add_fresh_episodes

        add_fresh_episodes(Path(parsed.source), parsed.episodes, typed=(task,))
    demos = None if parsed.demos is None else load_demos(parsed.demos)
    if demos is not None:
        seen = replace(policy.conditions, sensor_noise=0.0)
        demos = under_conditions(demos, seen, parsed.seed)
        policy.require_widths(demos.num_states, demos.num_actions, demos.source)
    frame = choose_frame(demos, policy.common_frame, task)
    under = parsed.instead_of(policy.conditions)
    to_compare = shown_to(policy) if demos is None else demos
    result = evaluate_afresh(
        *(policy, task, parsed.episodes, parsed.seed, None, frame, under),
        None if to_compare is None else DemonstratedStates.by(to_compare),
    )
    facts = frame_facts(frame, policy.policy.normalizer.scale)
    # Where nobody showed it anything there is no demonstrator.
    beside = demonstrator_of(policy, task, frame) if task == policy.task else None
    document = identity(
        task=task, algorithm=policy.provenance.get("algorithm"), seed=parsed.seed
    ) | {
        "source": parsed.source,
        "provenance": dict(policy.provenance),
        **({"conditions": asdict(under)} if under.is_on else {}),
        "common_frame": None if facts is None else asdict(facts),
        "demonstrator": None if beside is None else dict(beside),
        **asdict(result),
    }

    def show_table() -> None:
        plain = asdict(type(under)())
        others = [f", {k.replace('_', ' ')} {v}" for k, v in asdict(under).items() if v != plain[k]]
        played = f"{count(result.num_episodes, 'episode')}, seed {parsed.seed}"
        print(f"{shown(task)}: {played}{''.join(others)}")
        columns = {"policy": document, "demonstrator": document["demonstrator"]}
        columns = {k: v for k, v in columns.items() if v is not None}
        if pays_nothing(document):
            columns = {k: without_return(v, to_compare) for k, v in columns.items()}
        print_records(columns, is_across=True)
        if pays_nothing(document):
            print(NOTHING_EARNED)
        without = "no common frame: pass --demos to compare policies of this task"
        print(without if facts is None else f"common frame: {facts}")

    show(document, parsed.json, show_table)
    return 0


def print_evaluation(found: "Evaluation") -> None:
    print_records({"policy": asdict(found)}, is_across=True)


def demonstrator_of(
    policy: "Policy", task: str, frame: "CommonFrame | None"
) -> "DemonstratorRow | None":
    """The demonstrator's own numbers, as the policy's run keeps them; else the bundled one's.

    `frame`: the one that the policy is measured in; J in another one is left out.
    """
    from spacil.demos.common_frame import IN_THE_COMMON_FRAME, bundled_frame, demonstrator_row
    from spacil.demos.file import load_demos
    from spacil.runs.facts import inputs_of

    kept, bundled = policy.common_frame, bundled_frame(task)
    inputs = None if policy.path is None else inputs_of(Path(policy.path))
    if inputs is not None and inputs.demonstrator is not None:
        is_same = kept is not None and frame is not None and kept.is_same_as(frame)
        return inputs.demonstrator | ({} if is_same else dict.fromkeys(IN_THE_COMMON_FRAME))
    # Where nothing says which demonstrations it had, it is taken to have had the bundled ones.
    if bundled is None or not (inputs is None if kept is None else kept.is_same_as(bundled)):
        return None
    return demonstrator_row(load_demos(task), frame, task)
