"""One training run from the command line: what `train` starts and `resume` goes on with."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spacil.cli.arguments import Output
from spacil.cli.output import show
from spacil.cli.training.summary import draw, print_summary, result_of
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError

if TYPE_CHECKING:
    from spacil.demos.demonstrations import Demonstrations
    from spacil.learning.intake import Intake
    from spacil.runs.facts import DemoInputs


@dataclass(frozen=True)
class Session:
    """Settings and inputs of a run, and where its result goes."""

    config: TrainConfig
    demos: "DemoInputs | None"
    """None for an algorithm that learns from the env's reward"""
    output: Output

    def train(self, run_dir: Path | None, *, resume: bool, overwrite: bool = False) -> int:
        """Train in a folder, show the result; returns the exit code."""
        from spacil.demos.common_frame import CommonFrame
        from spacil.learning.intake import found_demonstrations
        from spacil.learning.learner import Learner, make_learner
        from spacil.learning.run import Outcome, train_in_folder
        from spacil.runs import metrics_log
        from spacil.runs.facts import RunInputs, inputs_of
        from spacil.runs.progress import Silent, progress_for
        from spacil.runs.run_log import RunLog

        with RunLog() as log:
            config, found = self.config, None
            if self.demos is not None:
                found, config = found_demonstrations(config, config.task, self.demos.sources)

            def start() -> Learner:
                if found is None or self.demos is None:
                    return make_learner(config, config.task, None)
                intake = _checked(found, self.demos, config)
                frame = CommonFrame.of(intake.given)
                return make_learner(config, config.task, intake.used, frame)

            outcome: Outcome = train_in_folder(
                config,
                start,
                Silent() if self.output.quiet else progress_for(config.run.iterations),
                run_dir=run_dir,
                resume=resume,
                overwrite=overwrite,
                inputs=RunInputs(config.task, True, self.demos),
                log=log,
            )
        inputs = inputs_of(outcome.path)
        demonstrator = None if inputs is None else inputs.demonstrator
        metrics = metrics_log.read(outcome.path / "metrics.jsonl")
        picture = draw(config, outcome.path, demonstrator, metrics)
        result = result_of(config, outcome, demonstrator, metrics)
        show(result, self.output.json, lambda: print_summary(result, outcome, picture))
        return outcome.exit_code


def _checked(demos: "Demonstrations", inputs: "DemoInputs", config: TrainConfig) -> "Intake":
    """The chosen part of the demonstrations, and the same one as before where a run goes on."""
    from spacil.learning.intake import checked_demonstrations

    choice = inputs.choice
    intake = checked_demonstrations(
        demos,
        config,
        config.task,
        first_episode=choice.first_demo,
        num_episodes=choice.num_demos,
        drop_nonfinite=choice.drop_nonfinite,
        allow_env_mismatch=choice.allow_env_mismatch,
        every=choice.demo_every,
        offset=choice.demo_offset,
        noise=choice.demo_noise,
    )
    if inputs.content_hash not in (None, intake.used.content_hash):
        raise ConfigError(
            f"{demos.source} changed since the run started (hash {intake.used.content_hash[:8]}, "
            f"was {inputs.content_hash[:8]}): restore it, or start a new run"
        )
    return intake
