"""The paper's policy step: a trust-region step on the surrogate with penalties composed onto it."""

from torch import Tensor

from spacil.config.train_config import TrainConfig
from spacil.engine.recorder import Recorder
from spacil.learning.policy_step import (
    DrawPenalties,
    PolicyBatch,
    surrogate_loss,
    with_penalties,
)
from spacil.learning.trust_region import (
    Direction,
    OldPolicy,
    TrustRegionReport,
    find_direction,
    follow,
)
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.policy_terms import DrawnTerms, build_terms, random_subset


class TrustRegionStep:
    """The paper's policy step: lower the penalised loss within KL(old, new) <= max_kl."""

    optimizer = None

    def __init__(self, policy: GaussianPolicy, config: TrainConfig) -> None:
        self.policy, self.config = policy, config

    def take(
        self,
        batch: PolicyBatch,
        draw_penalties: DrawPenalties,
        streams: Streams,
        recorder: Recorder,
    ) -> TrustRegionReport:
        """Move the policy, or leave it bit for bit."""
        region, device = self.config.trust_region, batch.states.device
        rows = random_subset(len(batch.states), region.fisher_state_fraction, streams.subset)
        fisher_rows = None if rows is None else rows.to(device)
        lasting = (self.policy, self.config, batch)
        drawn = draw_penalties().on(device)
        direction = recorder("direction", _direction, lasting, fisher_rows, drawn)
        return follow(self.policy, direction, region, recorder)

    def stay(self) -> TrustRegionReport:
        """What an iteration reports that leaves the policy as it is."""
        return TrustRegionReport(
            kl=0.0,
            improvement=0.0,
            step_fraction=0.0,
            line_search_tries=0,
            line_search_reason="only critic and discriminator train: warm start",
            is_accepted=True,  # no search has failed
            cg_steps=0,
            cg_residual=0.0,
            has_positive_curvature=True,
            summands={},
        )


def _direction(
    policy: GaussianPolicy,
    config: TrainConfig,
    batch: PolicyBatch,
    fisher_rows: Tensor | None,
    drawn: DrawnTerms,
) -> Direction:
    """The natural gradient of the surrogate with the penalties composed onto it."""
    old = OldPolicy(policy, batch.states, config.trust_region, fisher_rows)
    surrogate = surrogate_loss(batch.actions, batch.advantages, old.mean, old.log_std)
    loss = with_penalties(surrogate, build_terms(policy, drawn, config), drawn.weights)
    return find_direction(policy, loss, old, config.trust_region)
