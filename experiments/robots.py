"""Smooth policies on a GPU simulator: what they cost and what they keep (docs/results/robots.md).

    python experiments/robots.py probe    OUT [--task T] [--worlds N]    # times, reads by the host
    python experiments/robots.py stock    OUT --seconds 240              # rsl_rl's own recipe
    python experiments/robots.py smooth   OUT                            # `spacil smooth` of it
    python experiments/robots.py finetune OUT --seconds 280              # penalties, on from it

Each is a process of its own and appends JSON lines to OUT/robots.jsonl, so that a run that is cut
is still a result. mjlab, MuJoCo Warp and rsl_rl have to be installed.
"""

import argparse
import contextlib
import io
import json
import sys
import time
import traceback
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.rl import MjlabOnPolicyRunner, RslRlVecEnvWrapper
from mjlab.tasks.registry import load_env_cfg, load_rl_cfg
from torch import Tensor

import spacil
from spacil.demos.common_frame import CommonFrame
from spacil.measuring.frames import mean_j
from spacil.policies.open import open_policy
from spacil.policies.policy import Policy

TRACKING, RATE = "track_linear_velocity", "action_rate_l2"
LOG_INTERVAL, SAVE_INTERVAL = 10, 50
READS = ("item", "tolist", "numpy", "cpu", "__bool__", "__float__", "__int__", "__index__")
NOISE = 0.1
"""Standard deviation of extra observation noise, in those of the observations"""
CONDITIONS: dict[str, dict[str, Any]] = {
    "stock": {},
    "no action rate": {"rate": 0.0},
    "exact": {"rate": 0.0, "penalty": "exact", "weight": 0.002},
    "l2c2 noisy": {"rate": 0.0, "penalty": "l2c2:twin=noisy", "weight": 0.02},
    "lcp": {"rate": 0.0, "penalty": "lcp", "weight": 0.001},
    "caps": {"rate": 0.0, "penalty": "caps", "weight": 0.05},
    "cats": {"rate": 0.0, "penalty": "cats", "weight": 0.005},
    "exact, action rate kept": {"penalty": "exact", "weight": 0.002},
}
"""Fine-tuning: weight of the action-rate reward (stock: the env's), penalty and first weight"""


class Robots:
    """Worlds of a task, and what is written about them."""

    def __init__(self, options: argparse.Namespace, episode_seconds: float | None = None) -> None:
        self.options, self.out = options, Path(options.out)
        self.began = time.time()
        config = load_env_cfg(options.task)
        config.scene.num_envs, config.seed = options.worlds, options.seed
        if episode_seconds is not None:
            config.episode_length_s = episode_seconds
        self.learner = load_rl_cfg(options.task)
        inner = ManagerBasedRlEnv(cfg=config, device=options.device)
        self.env = RslRlVecEnvWrapper(inner, clip_actions=self.learner.clip_actions)
        self.rewards = inner.reward_manager
        self.stock_rate = self.rewards.get_term_cfg(RATE).weight
        self.write(stage=options.stage, name="ready", device=str(options.device))

    def write(self, **row: Any) -> None:
        """Append a line."""
        row = {"task": self.options.task, "worlds": self.options.worlds} | row
        row["seconds"] = round(time.time() - self.began, 2)
        line = json.dumps(row)
        print(line, file=sys.stderr, flush=True)
        with (self.out / "robots.jsonl").open("a") as lines:
            lines.write(line + "\n")

    def runner(self) -> Any:
        """A runner of the stock recipe that prints nothing."""
        settings = asdict(self.learner) | {
            "logger": "tensorboard", "upload_model": False, "seed": self.options.seed,
        }  # fmt: skip
        torch.manual_seed(self.options.seed)
        with contextlib.redirect_stdout(io.StringIO()):
            return MjlabOnPolicyRunner(self.env, settings, None, self.options.device)

    def tracking(self) -> Tensor:
        """The tracking reward of every world in the step just taken."""
        column = self.rewards.active_terms.index(TRACKING)
        found: Tensor = self.rewards._step_reward[:, column]
        return found

    def learn(
        self, runner: Any, seconds: float, name: str, stage: str, attached: Any = None
    ) -> int:
        """Iterations of rsl_rl's own loop until the time is over; a line after every ten."""
        began, done, seen, reward = time.time(), 0, [], []
        update, process = runner.alg.update, runner.alg.process_env_step

        def heard(observations: Any, rewards: Tensor, dones: Tensor, extras: Any) -> None:
            process(observations, rewards, dones, extras)
            seen.append(self.tracking().mean())
            reward.append(rewards.mean())

        def counted() -> Any:
            nonlocal done
            found = update()
            done += 1
            if done % LOG_INTERVAL == 0:
                self.write(
                    stage=stage, name=name, iteration=done,
                    seconds_per_iteration=round((time.time() - began) / done, 4),
                    tracking=float(torch.stack(seen).mean()),
                    reward=float(torch.stack(reward).mean()),
                    std=float(runner.alg.get_policy().output_std.mean()),
                    **({} if attached is None else {
                        "weight": attached.weight, "penalty": attached.value,
                    }),
                )  # fmt: skip
                seen.clear()
                reward.clear()
            if stage == "stock" and done % SAVE_INTERVAL == 0:
                self.save(runner, done)
            if time.time() - began > seconds:
                raise _TimeIsUpError
            return found

        runner.alg.update, runner.alg.process_env_step = counted, heard
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                runner.learn(1_000_000, init_at_random_ep_len=stage == "stock")
        except _TimeIsUpError:
            pass
        finally:
            runner.alg.update, runner.alg.process_env_step = update, process
        return done

    @torch.no_grad()
    def measure(
        self, act: Callable[[Tensor], Tensor], policy: Policy, steps: int
    ) -> dict[str, Any]:
        """Mean actions in all worlds: as they are, with noisier observations, one step late."""
        robot, manager = self.env.unwrapped.scene["robot"], self.env.unwrapped.command_manager
        found: dict[str, Any] = {}
        kept: list[Tensor] = []
        std: Tensor | None = None
        for condition, number in (("clean", steps), ("noise", steps // 2), ("delay", steps // 2)):
            self.env.unwrapped.seed(1)
            observations = self.env.reset()[0]["actor"]
            sums: defaultdict[str, float] = defaultdict(float)
            recent: deque[Tensor] = deque(maxlen=3)
            late: deque[Tensor] = deque(maxlen=2)
            over = torch.zeros(len(observations), dtype=torch.int64, device=observations.device)
            totals = {}
            for step in range(number):
                if condition == "clean" and step % 20 == 10:
                    kept.append(observations.cpu())
                if condition == "noise" and std is not None:
                    observations = observations + NOISE * std * torch.randn_like(observations)
                actions = act(observations)
                recent.append(actions)
                late.append(actions)
                executed = late[0] if condition == "delay" else actions
                shown, rewards, dones, extras = self.env.step(executed)
                observations, is_over = shown["actor"], dones.bool()
                over = torch.where(is_over, 0, over + 1)
                velocity = robot.data.root_link_lin_vel_b[:, :2]
                error = (manager.get_command("twist")[:, :2] - velocity).norm(dim=1)
                totals = {
                    "reward": rewards.mean(),
                    "tracking": self.tracking().mean(),
                    "velocity_error": error.mean(),
                    "torque2": robot.data.actuator_force.square().mean(),
                    "falls_per_1000": 1_000 * (is_over & ~extras["time_outs"]).float().mean(),
                }
                if len(recent) > 2:  # no episode begins in between
                    is_one = over > 3
                    jerk = (recent[2] - 2 * recent[1] + recent[0]).norm(dim=1)
                    totals["change"] = (recent[2] - recent[1]).norm(dim=1)[is_one].mean()
                    totals["jerk"] = jerk[is_one].mean()
                for name, value in totals.items():
                    if value.isfinite():
                        sums[name] += float(value)
                        sums[f"n {name}"] += 1
            names = [name for name in sums if not name.startswith("n ")]
            found[condition] = {name: sums[name] / sums[f"n {name}"] for name in names}
            if condition == "clean":
                std = torch.cat(kept).std(0).to(observations)
        states = torch.cat(kept)
        rows = torch.randperm(len(states), generator=torch.Generator().manual_seed(0))[:2_000]
        frame = self.frame(states)
        found["J"] = mean_j(policy, states[rows], frame)
        return found

    def frame(self, states: Tensor) -> CommonFrame:
        """Standard deviations of the first policy that was measured here: one frame for all."""
        path = self.out / f"frame-{self.options.task}.json"
        if not path.exists():
            path.write_text(json.dumps(states.double().std(0, correction=0).tolist()))
        std = torch.tensor(json.loads(path.read_text()), dtype=torch.float64)
        return CommonFrame(std, "the observations of the stock policy")

    def actor(self, runner: Any) -> tuple[Callable[[Tensor], Tensor], Policy]:
        """The mean action of a runner's actor, on its device and as a record."""
        actor = runner.get_inference_policy(device=self.options.device)
        return lambda observations: actor({"actor": observations}), open_policy(actor)

    def save(self, runner: Any, iteration: int) -> None:
        """What the other stages go on from."""
        torch.save(runner.alg.save() | {"iter": iteration, "infos": None}, self.checkpoint)

    @property
    def checkpoint(self) -> Path:
        return self.out / "model_stock.pt"


class _TimeIsUpError(Exception):
    pass


def stock(robots: Robots, options: argparse.Namespace) -> None:
    """The stock recipe from scratch."""
    runner = robots.runner()
    done = robots.learn(runner, options.seconds, "stock", "stock")
    robots.save(runner, done)
    robots.write(stage="stock", name="saved", iteration=done)
    found = robots.measure(*robots.actor(runner), options.steps)
    robots.write(stage="stock", name="measured", iteration=done, **found)


def finetune(robots: Robots, options: argparse.Namespace) -> None:
    """On from the stock policy, one condition after the other, as long as the time lasts."""
    ends, each = time.time() + options.seconds, options.each
    saved = torch.load(robots.checkpoint, map_location=options.device, weights_only=True)
    reference = None
    for name, condition in CONDITIONS.items():
        if time.time() + each > ends:
            robots.write(stage="finetune", name=name, left_out="no time")
            continue
        try:
            settings = dict(condition)
            robots.rewards.get_term_cfg(RATE).weight = settings.pop("rate", robots.stock_rate)
            runner = robots.runner()
            runner.alg.load(saved, None, True)
            if reference is None:
                before = robots.measure(*robots.actor(runner), options.steps)
                robots.write(stage="finetune", name="before", **before)
                reference = before["clean"]["tracking"]
            attached = None
            if settings:
                attached = spacil.attach_to_rsl_rl(
                    runner, **settings, keep_tracking=robots.tracking, reference=reference,
                    moves_every=options.moves_every,
                )  # fmt: skip
            runner.alg.train_mode()
            done = robots.learn(runner, each, name, "finetune", attached)
            found = robots.measure(*robots.actor(runner), options.steps)
            weight = None if attached is None else attached.weight
            robots.write(
                stage="finetune", name=name, measured=True, iteration=done, weight=weight, **found
            )
        except Exception:
            robots.write(stage="finetune", name=name, error=traceback.format_exc()[-1_500:])


def smooth(robots: Robots, options: argparse.Namespace) -> None:
    """`spacil smooth` of the stock policy, in all worlds, with a wish on its return."""
    runner = robots.runner()
    saved = torch.load(robots.checkpoint, map_location=options.device, weights_only=True)
    runner.alg.load(saved, None, True)
    act, teacher = robots.actor(runner)
    began = time.time()
    result = spacil.smooth(
        teacher,
        spacil.RslRlTask(robots.env, name=options.task),
        num_envs=options.worlds,
        steps_per_iteration=options.play * options.worlds,
        iterations=options.rounds,
        fit_steps=options.fit_steps,
        fit_minibatch=2_048,
        policy_hidden=(512, 256, 128),
        keep_return=options.keep_return,
        run_dir=robots.out / "smooth",
        evaluation_steps=20_000,
        episodes=50,
    )
    took = time.time() - began
    spacil.save_policy(result.policy, robots.out / "smooth.policy.safetensors", options.task)
    table = result.comparison.as_document()
    robots.write(
        stage="smooth", name="table", took=took, verdict=result.verdict, is_done=result.is_done,
        rows=[
            {key: row[key] for key in ("name", "return_share", "smoothness_j")}
            | {"return": row["played"]["average_return"]}
            | {"change": row["played"]["action_signal"]["action_fluctuation"]}
            for row in (table["teacher"], table["smooth"], *table["filters"])
        ],
    )  # fmt: skip
    student = result.policy.to(options.device)
    for name, actor, policy in (("teacher", act, teacher), ("smooth", student.mean, None)):
        found = robots.measure(actor, policy or open_policy(result.policy), options.steps)
        robots.write(stage="smooth", name=name, took=took, **found)


def probe(robots: Robots, options: argparse.Namespace) -> None:
    """Does everything work here, how often does the host read, and what does an iteration take?"""
    batch = 24 * options.worlds
    for part in (_our_iterations, _their_iterations, _short_smooth):
        try:
            part(robots, options, batch)
        except Exception:
            robots.write(stage="probe", name=part.__name__, error=traceback.format_exc()[-3_000:])


def _our_iterations(robots: Robots, options: argparse.Namespace, batch: int) -> None:
    """Of a PPO with the sizes of the stock recipe; numbers of reads while it collects."""
    agent = spacil.TRPO(
        spacil.RslRlTask(robots.env, name=options.task),
        num_envs=options.worlds, steps_per_iteration=batch, device=options.device.split(":")[0],
        policy_step="ppo", ppo_epochs=5, ppo_minibatch=batch // 4, policy_hidden=(512, 256, 128),
        value_hidden=(512, 256, 128), value_epochs=5, value_minibatch=batch // 4,
    )  # fmt: skip
    learner: Any = agent._learner
    for number in range(options.repeats):
        _wait(options)
        began = time.time()
        with contextlib.ExitStack() as stack:
            reads = stack.enter_context(counted_reads()) if number == 1 else {}
            metrics = learner.iterate()
        _wait(options)
        robots.write(
            stage="probe", name="our iteration", number=number, took=time.time() - began,
            parts={k: round(v, 3) for k, v in metrics.items() if k.startswith("seconds_")},
            reads=dict(reads), train_return=metrics["train_return"],
        )  # fmt: skip


def _their_iterations(robots: Robots, options: argparse.Namespace, batch: int) -> None:
    """rsl_rl's own, without and with the exact penalty attached."""
    for penalty in (None, "exact", "l2c2"):
        runner, name = robots.runner(), "rsl_rl" if penalty is None else f"rsl_rl, {penalty}"
        if penalty:
            spacil.attach_to_rsl_rl(runner, penalty=penalty, weight=0.003)
        runner.alg.train_mode()
        for number in range(options.repeats):
            _wait(options)
            began = time.time()
            with contextlib.redirect_stdout(io.StringIO()):
                runner.learn(1)
            _wait(options)
            robots.write(stage="probe", name=name, number=number, took=time.time() - began)


def _short_smooth(robots: Robots, options: argparse.Namespace, batch: int) -> None:
    """Two rounds of smoothing an untrained actor: does every part find its device?"""
    _, teacher = robots.actor(robots.runner())
    began = time.time()
    result = spacil.smooth(
        teacher, spacil.RslRlTask(robots.env, name=options.task), num_envs=options.worlds,
        steps_per_iteration=5 * options.worlds, iterations=2, fit_steps=20, fit_minibatch=2_048,
        policy_hidden=(64,), evaluation_steps=1_000, episodes=4, keep_return=0.9,
    )  # fmt: skip
    robots.write(
        stage="probe", name="short smooth", took=time.time() - began, verdict=result.verdict
    )


@contextlib.contextmanager
def counted_reads() -> Iterator[Counter[str]]:
    """Reads of a tensor's numbers by the host, by who asked: a function of spacil, or a library."""
    found: Counter[str] = Counter()
    originals = {name: getattr(Tensor, name) for name in READS}

    def counted(name: str) -> Any:
        def read(tensor: Tensor, *args: Any, **how: Any) -> Any:
            if tensor.device.type != "cpu":
                frames = traceback.extract_stack(limit=12)[-2::-1]
                ours = next((f.name for f in frames if "/spacil/" in f.filename), "?")
                is_ours = "/spacil/" in frames[0].filename
                found[ours if is_ours else frames[0].filename.split("/site/")[-1]] += 1
            return originals[name](tensor, *args, **how)

        return read

    for name in READS:
        setattr(Tensor, name, counted(name))
    try:
        yield found
    finally:
        for name, original in originals.items():
            setattr(Tensor, name, original)


def _wait(options: argparse.Namespace) -> None:
    if options.device != "cpu":
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=("probe", "stock", "smooth", "finetune"))
    parser.add_argument("out")
    parser.add_argument("--task", default="Mjlab-Velocity-Flat-Unitree-Go1")
    parser.add_argument("--worlds", type=int, default=4_096)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=200.0, help="of training")
    parser.add_argument("--each", type=float, default=40.0, help="seconds of a fine-tuning")
    parser.add_argument("--moves-every", type=int, default=2, help="iterations between weights")
    parser.add_argument("--steps", type=int, default=150, help="steps of a measurement")
    parser.add_argument("--rounds", type=int, default=8, help="of smooth")
    parser.add_argument("--play", type=int, default=100, help="steps of a world in a round")
    parser.add_argument("--episode", type=float, default=3.0, help="seconds, of smooth")
    parser.add_argument("--fit-steps", type=int, default=300, help="of smooth")
    parser.add_argument("--keep-return", type=float, default=0.97, help="of smooth")
    parser.add_argument("--repeats", type=int, default=8, help="of probe")
    options = parser.parse_args()
    Path(options.out).mkdir(parents=True, exist_ok=True)
    stages = {"probe": probe, "stock": stock, "smooth": smooth, "finetune": finetune}
    short = {"probe": 0.5, "smooth": options.episode}
    robots = Robots(options, short.get(options.stage))
    stages[options.stage](robots, options)


if __name__ == "__main__":
    main()
