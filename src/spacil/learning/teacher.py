"""The policy that is distilled: what it must be, and whether it is the one of a saved run."""

from dataclasses import replace

import torch
from torch import Tensor

from spacil.envs.vector_env import EnvSpec
from spacil.learning.labelled_states import LabelledStates
from spacil.policies.source import PolicySource, check_is_function, check_widths

_NUM_ASKED = 64


def teacher_for(source: PolicySource, spec: EnvSpec, states: Tensor) -> PolicySource:
    """The policy with the sizes and bounds of the env; one that is no function is refused.

    A teacher that remembers or rolls dice gives the same state several labels.
    """
    check_widths(source, spec.num_states, spec.num_actions, spec.task)
    num_actions = check_is_function(source, states.to(source.dtype))
    known = replace(source, num_states=spec.num_states, num_actions=num_actions)
    check_widths(known, spec.num_states, spec.num_actions, spec.task)
    bounds = torch.from_numpy(spec.action_low), torch.from_numpy(spec.action_high)
    return replace(known, action_bounds=source.action_bounds or bounds)


@torch.no_grad()
def same_teacher(source: PolicySource, labelled: LabelledStates) -> bool:
    """Whether it answers as the labels say, up to rounding; anything does before there are any."""
    states = labelled.states[:_NUM_ASKED]
    if not len(states):
        return True
    labels = labelled.labels[:_NUM_ASKED]
    answers = source.mean(states.to(source.dtype)).float()
    return answers.shape == labels.shape and torch.allclose(answers, labels, rtol=1e-3, atol=1e-4)
