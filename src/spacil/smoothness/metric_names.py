"""What the numbers of an evaluation are called: one table for every verb, page and figure."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """How one number is shown."""

    label: str
    better: Literal["higher", "lower", ""]
    """The direction that is better; empty where neither is"""
    unit: str = ""


METRICS = {
    "average_return": Metric("return G", "higher", "reward"),
    "return_std": Metric("  std over episodes", "", "reward"),
    "return_low": Metric("  95 % interval of the mean, low", "", "reward"),
    "return_high": Metric("  95 % interval of the mean, high", "", "reward"),
    "mean_length": Metric("episode length n", "", "steps"),
    "smoothness_j": Metric("J, common frame", "lower", "action per std of the demonstrations"),
    "smoothness_j_effective": Metric(
        "J, effective (after clipping)", "lower", "action per std of the demonstrations"
    ),
    "smoothness_j_own": Metric("J, own normalised frame", "lower", "action per std of the policy"),
    "smoothness_j_raw": Metric("J, raw units", "lower", "action per unit of the state"),
    "action_fluctuation": Metric("action change E|da|", "lower", "action per step"),
    "spectrum_score": Metric("spectrum score Sm", "lower"),
    "continuity_cost": Metric("continuity cost, 0 to 100", "lower"),
    "action_jerk": Metric("jerk E|d3 a|, per step", "lower", "action per step cubed"),
    "high_frequency_ratio": Metric("power above 1/4 Nyquist, 0 to 1", "lower"),
    "mean_squared_action": Metric("energy E|a|^2", "lower", "action squared"),
    "mean_absolute_power": Metric("power E|a . q'|", "lower", "action times joint velocity"),
    "spectral_arc_length": Metric("SPARC, near 0 is smoother", "higher"),
}
"""By the key in documents"""
