"""The demonstrator of a run: whether it is one we know, and when the run came to its return."""

import math

from spacil.comparison.demonstrator import Demonstrator, demonstrator_of
from spacil.comparison.run_record import RunRecord, first_reaching


def demonstrator_of_run(record: RunRecord) -> Demonstrator | None:
    """The bundled demonstrator, where the run learned from its episodes, whole or thinned.

    A demonstrator of other episodes than the run was given says nothing about it. A folder that
    does not say which ones it had is taken to have had the bundled ones.
    """
    known = demonstrator_of(record.task)
    is_its_own = known is not None and record.frame_hash in (None, known.frame_hash)
    return known if is_its_own else None


def time_to_95(record: RunRecord, random_return: float | None) -> dict[str, float | None]:
    """`steps_to_95` and `seconds_to_95`: training until 95 % of the demonstrator's return.

    None where the run never got there, and where its demonstrator is not known.
    """
    known = demonstrator_of_run(record)
    if known is None:
        reached = None
    else:
        random = math.nan if random_return is None else random_return
        reached = first_reaching(record.curve, known.threshold(random))
    return {
        "steps_to_95": None if reached is None else float(reached.env_steps),
        "seconds_to_95": None if reached is None else reached.seconds,
    }
