"""Which weight a policy penalty has in which iteration."""

from penalty_cases import make_config

from spacil.smoothness.weights import terms_at


def weights_at(iteration: int, **settings: object) -> list[float]:
    terms = terms_at(make_config(**settings).policy_penalty, iteration)
    return [term.weight for term in terms]


def test_the_weight_grows_linearly_over_the_ramp() -> None:
    ramp = [weights_at(i, lambda_policy=0.5, penalty_ramp_iterations=4) for i in range(6)]
    # At the start of the ramp the penalty has no weight, and so is no term at all.
    assert ramp == [[], [0.125], [0.25], [0.375], [0.5], [0.5]]
    assert weights_at(0, lambda_policy=0.5, penalty_ramp_iterations=0) == [0.5]


def test_a_ramp_begins_where_the_penalty_does() -> None:
    ramp = [
        weights_at(i, lambda_policy=0.5, penalty_start=2, penalty_ramp_iterations=2)
        for i in range(5)
    ]
    assert ramp == [[], [], [], [0.25], [0.5]]


def test_every_penalty_climbs_the_ramp_in_its_proportion() -> None:
    found = weights_at(2, penalty=("exact=0.1", "cats=1"), penalty_ramp_iterations=4)
    assert found == [0.05, 0.5]
