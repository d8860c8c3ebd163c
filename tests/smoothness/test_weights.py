"""Which weight a policy penalty has in which iteration."""

import pytest
from penalty_cases import make_config

from spacil.smoothness.policy_terms import FoundWeights, terms_at


def weights_at(iteration: int, **settings: object) -> list[float]:
    terms = terms_at(make_config(**settings).policy_penalty, iteration)
    return [term.weight for term in terms]


def test_the_weight_grows_linearly_over_the_ramp() -> None:
    ramp = [weights_at(i, lambda_policy=0.5, penalty_ramp_iterations=4) for i in range(6)]
    # At the start of the ramp the penalty has no weight, and so is no term at all.
    assert ramp == [[], [0.125], [0.25], [0.375], [0.5], [0.5]]
    assert weights_at(0, lambda_policy=0.5, penalty_ramp_iterations=0) == [0.5]


def test_every_penalty_climbs_the_ramp_in_its_proportion() -> None:
    found = weights_at(2, penalty=("exact=0.1", "cats=1"), penalty_ramp_iterations=4)
    assert found == [0.05, 0.5]


def found(
    penalty: tuple[str, ...], iteration: int, *weights: float | None, **settings: object
) -> dict[str, float]:
    config = make_config(penalty=penalty, **settings).policy_penalty
    terms = terms_at(config, iteration, FoundWeights(*weights))
    return {term.name: term.weight for term in terms}


def test_a_term_without_weight_is_no_term() -> None:
    assert found(("exact=0", "cats=2"), 0) == {"cats": 2}
    assert found((), 0) == found(("exact=0.1", "cats=2"), 5, 0.0) == {}


def test_a_found_weight_takes_the_first_place_and_scales_the_others() -> None:
    weights = found(("exact=0.1", "cats=2", "lcp=0.01"), 0, 0.3)
    assert weights["exact"] == 0.3  # not 0.1 * (0.3 / 0.1), which is another float
    assert weights == pytest.approx({"exact": 0.3, "cats": 6, "lcp": 0.03})


def test_a_found_weight_goes_along_the_ramp_too() -> None:
    weights = found(("exact=0.1", "cats=2"), 1, 0.4, penalty_ramp_iterations=2)
    assert weights == pytest.approx({"exact": 0.2, "cats": 4})


def test_a_found_temporal_weight_belongs_to_the_temporal_term_alone() -> None:
    assert found(("exact=0.1",), 0, None, 0.3) == {"exact": 0.1, "cats": 0.3}
    weights = found(("exact=0.1", "caps=2", "lcp=0.01"), 0, 0.2, 0.3)
    assert weights == pytest.approx({"exact": 0.2, "lcp": 0.02, "caps": 0.3})
