"""The last act of a run in a sweep: best and last policy on episodes that no training has seen.

The best policy was picked for its return among many evaluations, so the return it was picked for
is too good on average. These numbers are not, and they are what runs are compared by.
"""

from collections.abc import Collection
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from spacil.measuring.evaluate import evaluate_afresh
from spacil.measuring.frames import choose_frame
from spacil.measuring.imitation_score import DemonstratedStates, shown_to
from spacil.measuring.measure import measure_smoothness
from spacil.policies.file import Which
from spacil.policies.open import load_policy
from spacil.policies.policy import task_of
from spacil.runs.facts import FreshEvaluations, read_run, write_run
from spacil.runs.lock import FolderLock

FRESH_SEED = 0
"""Seed of the start states: the same for all runs, so that luck with them is shared"""
SIGNAL_EPISODES = 20
"""Number of these episodes that are kept step by step for the numbers of the action signal"""
MEASURED_STATES = 5_000
"""Number of states at which the policy is measured in other ways"""


def add_fresh_episodes(
    run_dir: Path, num_episodes: int, num_threads: int = 1, typed: Collection[str] = ()
) -> FreshEvaluations:
    """Evaluate a finished run and write `fresh` into its run.json, holding the folder.

    `typed`: tasks that the user typed, which may be code.
    What is there already and large enough is kept.
    """
    lock = FolderLock(run_dir)
    try:
        lock.claim()
        recorded = read_run(run_dir)
        if recorded.fresh is not None and recorded.fresh.num_episodes >= num_episodes:
            return recorded.fresh
        best, last = (
            _row(run_dir, which, num_episodes, num_threads, typed) for which in ("best", "last")
        )
        fresh = FreshEvaluations(FRESH_SEED, num_episodes, best, last)
        lock.require_in_place()
        write_run(replace(recorded, fresh=fresh))
        return fresh
    finally:
        lock.release()


def _row(
    run_dir: Path, which: Which, num_episodes: int, num_threads: int, typed: Collection[str]
) -> dict[str, Any]:
    saved = load_policy(run_dir, which)
    task = task_of(saved, typed)
    frame = choose_frame(None, saved.common_frame, task)
    shown = shown_to(saved)
    evaluation = evaluate_afresh(
        *(saved, task, num_episodes, FRESH_SEED, num_threads, frame),
        demonstrated=None if shown is None else DemonstratedStates.by(shown),
    )
    # J at the demonstrated states and as the paper estimates it, and what the motors feel.
    report = measure_smoothness(
        run_dir,
        env=task,
        which=which,
        episodes=min(SIGNAL_EPISODES, num_episodes),
        seed=FRESH_SEED,
        max_states=MEASURED_STATES,
    )
    fixed, played, references = report.on_fixed_states, report.played, report.references
    return {
        "iteration": saved.provenance.get("iteration"),
        "common_frame": None if frame is None else frame.content_hash,
        **asdict(evaluation),
        "smoothness_j_demo_states": fixed.common.mean if fixed and fixed.common else None,
        "smoothness_j_ball": report.estimators["raw"],
        "smoothness_jeffreys": report.estimators["jeffreys"],
        "spectrum_score": None if played is None else played.action_signal.spectrum_score,
        "random_return": references["random"].average_return if references else None,
    }
