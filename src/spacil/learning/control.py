"""The step that every search for a weight takes: integral control of its logarithm.

A penalty lowers what it penalises roughly as a power of its weight. So errors are relative, steps
are in log weight, and each step has a largest length: what is measured follows a weight slowly.
"""


def log_step(error: float, gain: float, largest_rise: float, largest_fall: float) -> float:
    """How far the log weight moves for an error; above 0 asks for more weight."""
    return min(max(gain * error, -largest_fall), largest_rise)


def limited(value: float, bound: float) -> float:
    """Within -bound and bound."""
    return min(max(value, -bound), bound)
