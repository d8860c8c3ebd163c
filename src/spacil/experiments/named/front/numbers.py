"""A front as two numbers: the area it dominates, and its smoothest point that still does the task.

A point is (roughness, share): how rough a policy is, lower is better, and its share of a return,
higher is better. Pure functions.
"""

import itertools
from collections.abc import Iterable, Sequence

Point = tuple[float, float]

LEAST_SHARE = 0.97


def not_dominated(points: Iterable[Point]) -> list[Point]:
    """Those that no other point beats in one number without losing in the other; by roughness."""
    kept: list[Point] = []
    for roughness, share in sorted(set(points), key=lambda point: (point[0], -point[1])):
        if not kept or share > kept[-1][1]:
            kept.append((roughness, share))
    return kept


def hypervolume(points: Iterable[Point], worst: Point = (1.0, 0.0)) -> float:
    """Area that the points dominate within `worst`: less rough than it and of a higher share.

    With roughness as a ratio to GAIL's and a share from random (0) to the demonstrator (1), a
    policy as good as the demonstrator and perfectly smooth has an area of 1, GAIL itself 0.
    """
    inside = [(r, s) for r, s in points if r < worst[0] and s > worst[1]]
    front = not_dominated(inside)
    corners = [*front, worst]
    return sum(
        (end - roughness) * (share - worst[1])
        for (roughness, share), (end, _) in itertools.pairwise(corners)
    )


def smoothest_at(points: Sequence[Point], least_share: float = LEAST_SHARE) -> int | None:
    """Index of the least rough point whose share is enough; None where none is."""
    enough = [i for i, (_, share) in enumerate(points) if share >= least_share]
    return min(enough, key=lambda i: points[i][0], default=None)
