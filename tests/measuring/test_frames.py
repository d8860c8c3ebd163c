"""One policy, one frame, one J: whoever measures it."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from fixture_types import Spacil, Tiny

import spacil as library
from spacil.demos.common_frame import CommonFrame, bundled_frame
from spacil.demos.file import load_demos
from spacil.demos.metadata import DemoMetadata
from spacil.functional.sensitivity import batch_jacobian
from spacil.measuring.frames import choose_frame, frame_facts, local_j, mean_j
from spacil.measuring.measure import measure_smoothness
from spacil.nets.policy import GaussianPolicy
from spacil.policies.open import load_policy, open_policy, save_policy
from spacil.runs import checkpoint


def make_policy(num_actions: int = 2) -> GaussianPolicy:
    bounds = [1.0] * num_actions
    generator = torch.Generator().manual_seed(0)
    policy = GaussianPolicy(3, [-b for b in bounds], bounds, (8,), generator=generator)
    states = torch.randn(50, 3, generator=generator) * torch.tensor([1.0, 2.0, 0.0])
    policy.normalizer.merge(states)
    return policy.requires_grad_(False)


def make_frame(*std: float) -> CommonFrame:
    return CommonFrame(torch.tensor(std, dtype=torch.float64), "a test")


def test_a_named_frame_comes_before_the_kept_one_and_that_before_the_bundled() -> None:
    given, kept = load_demos("Reacher-v4").first(2), make_frame(*[1.0] * 11)
    named = choose_frame(given, kept, "Reacher-v4")
    assert named is not None and torch.equal(named.std, given.state_std)
    assert choose_frame(None, kept, "Reacher-v4") is kept
    bundled = choose_frame(None, None, "Reacher-v4")
    assert bundled is not None and bundled.source == "bundled demonstrations of Reacher-v4"
    assert choose_frame(None, None, "Pendulum-v1") is None


def test_the_facts_count_dims_that_vary_and_dims_that_are_read() -> None:
    policy = make_policy()
    facts = frame_facts(make_frame(1.0, 0.0, 0.0), policy.normalizer.scale)
    assert (facts.num_dims, facts.num_live_dims, facts.num_dims_read) == (3, 1, 2)
    words = "a test; 1 of 3 state dims vary there, the policy reads 2"
    assert str(facts) == words + "; J does not see 1 of these: 1"
    assert facts.dims_unseen == (1,)
    assert str(frame_facts(make_frame(1.0, 2.0, 0.0), policy.normalizer.scale)).endswith("reads 2")
    assert frame_facts(None, policy.normalizer.scale) is None


def test_j_is_the_largest_slope_per_standard_deviation_of_the_frame() -> None:
    policy, frame = make_policy(), make_frame(0.5, 3.0, 7.0)
    states = torch.randn(20, 3, generator=torch.Generator().manual_seed(1))
    slopes = batch_jacobian(policy.mean, states) * frame.std.float()
    found, expected = mean_j(policy, states, frame), torch.linalg.matrix_norm(slopes, ord=2).mean()
    assert found == pytest.approx(float(expected), rel=1e-4)
    common = local_j(policy, states, frame)["common"]
    # The same to the bit, whoever measures it.
    assert found == float(common.mean()) == mean_j(open_policy(policy), states, frame)


def test_a_run_on_one_demonstration_has_one_j_wherever_it_is_measured(
    spacil: Spacil, train: Spacil, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    trained = train("gail", "--run-dir", run, "--num-demos", 1, evaluation_steps=2_500)
    trained_j = trained.result["last"]["smoothness_j"]
    command = ("evaluate", run, "--which", "last", "--json", "-")
    evaluated = spacil(*command)
    assert evaluated.result["smoothness_j"] == pytest.approx(trained_j, rel=0.05)
    whole_file = bundled_frame("Reacher-v4")
    assert evaluated.result["common_frame"]["hash"] == whole_file.content_hash
    smoothness = spacil("smoothness", run, "--which", "last", "--episodes", 20, "--json", "-")
    assert smoothness.result["smoothness_j"] == pytest.approx(trained_j, rel=0.05)
    assert smoothness.result["common_frame"] == evaluated.result["common_frame"]


def test_demonstrations_of_ones_own_define_the_frame_and_others_can_be_named(
    spacil: Spacil, train: Spacil, tmp_path: Path
) -> None:
    ours = load_demos("Reacher-v4").first(4)
    library.save_demos(ours, tmp_path / "ours.safetensors")
    run = tmp_path / "run"
    assert train("bc", "--run-dir", run, "--demos", tmp_path / "ours.safetensors").code == 0
    command = ("evaluate", run, "--episodes", 2, "--json", "-")
    kept, named = spacil(*command).result, spacil(*command, "--demos", "Reacher-v4").result
    assert kept["common_frame"]["hash"] == CommonFrame.of(ours).content_hash
    assert "(4 episodes, hash " in kept["common_frame"]["source"]
    assert named["common_frame"]["hash"] != kept["common_frame"]["hash"]
    assert named["smoothness_j"] != kept["smoothness_j"]
    assert named["average_return"] == kept["average_return"]


BUNDLED_J = load_demos("Reacher-v4").metadata.provenance["evaluation"]["smoothness_j"]


@pytest.mark.parametrize(
    "flags", [(), ("--num-demos", 2, "--demo-every", 10, "--demo-offset", 3, "--demo-noise", 0.1)]
)
def test_train_evaluate_and_compare_agree_on_the_demonstrators_j(
    spacil: Spacil, train: Spacil, tmp_path: Path, flags: tuple[object, ...]
) -> None:
    run = tmp_path / "run"
    trained = train("bc", "--run-dir", run, *flags, iterations=1).result["demonstrator"]
    evaluated = spacil("evaluate", run, "--episodes", 1, "--json").result["demonstrator"]
    compared = spacil("compare", run, "--format", "json").result["demonstrators"]["Reacher-v4"]
    assert trained == evaluated
    assert trained["smoothness_j"] == compared["smoothness_j"] == BUNDLED_J
    assert trained["smoothness_j_effective"] == compared["smoothness_j_effective"] > 0
    assert trained["action_fluctuation"] == pytest.approx(compared["action_fluctuation"], rel=0.2)


def test_the_demonstrators_j_does_not_stand_beside_a_j_in_another_frame(
    spacil: Spacil, train: Spacil, tmp_path: Path
) -> None:
    bundled = load_demos("Reacher-v4")
    library.save_demos(bundled.first(4), tmp_path / "four.safetensors")
    whole, part = tmp_path / "whole", tmp_path / "part"
    assert train("bc", "--run-dir", whole, iterations=1).code == 0
    own = ("bc", "--run-dir", part, "--demos", tmp_path / "four.safetensors")
    # Its file is an edited one, and its frame none that anybody measured the demonstrator in.
    assert train(*own, iterations=1).result["demonstrator"]["smoothness_j"] is None
    for run, other in ((whole, tmp_path / "four.safetensors"), (part, "Reacher-v4")):
        command = ("evaluate", run, "--episodes", 1, "--json")
        kept = spacil(*command).result["demonstrator"]
        moved = spacil(*command, "--demos", other).result["demonstrator"]
        assert moved.keys() == kept.keys()
        assert (moved["smoothness_j"], moved["smoothness_j_effective"]) == (None, None)
        for key in ("average_return", "smoothness_j_own", "action_fluctuation"):
            assert moved[key] == kept[key]


def test_a_resumed_run_keeps_the_frame_of_its_checkpoint(train: Spacil, tmp_path: Path) -> None:
    run = tmp_path / "run"

    def kept_hash() -> str:
        found = checkpoint.newest(run / "checkpoints")
        return str(found.document["common_frame"]["hash"])

    for num_episodes in (2, 5):
        demos = load_demos("Reacher-v4").first(num_episodes)
        demos = replace(demos, metadata=DemoMetadata("Reacher-v4"))
        library.save_demos(demos, tmp_path / f"{num_episodes}.safetensors")
    command = ("gail", "--run-dir", run, "--num-demos", 1, "--demos")
    assert train(*command, tmp_path / "2.safetensors", iterations=2).code == 0
    before = kept_hash()
    assert before == CommonFrame.of(load_demos(tmp_path / "2.safetensors")).content_hash
    # The same first episode out of a longer file: the run goes on in its own frame.
    assert train(*command, tmp_path / "5.safetensors", "--resume", iterations=4).code == 0
    assert kept_hash() == before


def test_a_policy_file_keeps_its_frame(tmp_path: Path) -> None:
    frame, path = make_frame(1.0, 2.0, 0.0), tmp_path / "p.policy.safetensors"
    save_policy(make_policy(), path, "Three-v0", {}, frame)
    kept = load_policy(path).common_frame
    assert kept is not None and kept.content_hash == frame.content_hash
    report = measure_smoothness(path, states=torch.zeros(2, 3))
    assert report.common_frame.hash == frame.content_hash
    save_policy(make_policy(), path, "Three-v0", {})
    assert load_policy(path).common_frame is None


def test_an_agent_is_measured_in_its_own_frame(tiny: Tiny) -> None:
    agent = library.GAIL("Reacher-v4", load_demos("Reacher-v4").first(2), **tiny())
    try:
        report = measure_smoothness(agent, episodes=1)
    finally:
        agent.close()
    assert report.common_frame.hash == agent.common_frame.content_hash


def test_ants_frame_and_policy_differ_in_dims_and_both_are_printed(spacil: Spacil) -> None:
    shown = spacil("evaluate", "Ant-v4", "--episodes", 1)
    assert "51 of 111 state dims vary there, the policy reads 81" in shown.out
