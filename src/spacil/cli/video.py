"""`spacil video RUN|POLICY... -o clip.mp4`: policies side by side, their actions beneath."""

import io
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from spacil.cli.arguments import Output
from spacil.cli.output import identity, print_records, show
from spacil.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Arguments(Output):
    """Policies side by side from the same start, their actions running beneath.

    Needs no display.
    """

    sources: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Run folders, policy or .onnx files, a task's name for its bundled expert, or module:name of
    a torch module, a Stable-Baselines3 model or a function from states to actions."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("clip.mp4")
    """File to write: .mp4 (H.264, as browsers play it; needs spacil[video]) or .gif."""
    task: str | None = None
    """Task name, Gymnasium id, or an env of your own (module:Env-v0); by default the task the
    policies are from, where they say. MuJoCo draws it, or the env itself (render_mode rgb_array);
    where nothing draws, the film shows the actions alone."""
    seed: int = 0
    """Seed of the start states: those of `spacil evaluate`, the same for every policy."""
    seconds: float = 8.0
    """Seconds of simulated time; the film runs in real time, with several episodes if they are
    short."""
    size: str = "320x240"
    """Width and height of one panel, in pixels."""
    demonstrator: bool = True
    """Show the bundled expert of the task too, where the policies learned from it."""
    which: Literal["best", "last"] = "best"
    """Which policy of a run folder."""
    still: Path | None = None
    """Write the last frame, with the numbers, as a PNG too."""
    overwrite: bool = False
    """Replace files that exist."""


def run(parsed: Arguments) -> int:
    from PIL import Image

    from spacil import storage
    from spacil.film.render import HELD_SECONDS, check_target
    from spacil.film.video import video

    size = re.fullmatch(r"(\d{1,5})x(\d{1,5})", parsed.size)
    if size is None:
        raise ConfigError(f"--size is {parsed.size!r}, expected WIDTHxHEIGHT, e.g. 320x240")
    still = parsed.still
    if still is not None:
        check_target(still, (".png",), overwrite=parsed.overwrite)
    film = video(
        parsed.sources,
        parsed.out,
        env=parsed.task,
        seed=parsed.seed,
        seconds=parsed.seconds,
        size=(int(size[1]), int(size[2])),
        demonstrator=parsed.demonstrator,
        which=parsed.which,
        overwrite=parsed.overwrite,
    )
    if still is not None:
        content = io.BytesIO()
        Image.fromarray(film.still()).save(content, "PNG", optimize=True)
        storage.replace_file(still, content.getvalue())
    frame, task = film.recording.frame, film.recording.spec.task
    panels: dict[str, dict[str, Any]] = {
        panel.name: {
            "num_episodes": len(panel.clips),
            "num_steps": sum(map(len, panel.clips)),
            "average_return": panel.total_return,
            "smoothness_j": panel.smoothness_j,
            "action_fluctuation": panel.action_change,
        }
        for panel in film.recording.panels
    }
    document = identity(task=task, seed=parsed.seed) | {
        "video": str(parsed.out),
        "num_frames": len(film.moments),
        "frames_per_second": float(film.rate),
        "size": asdict(film.frame_size),
        "common_frame": None if frame is None else frame.source,
        "panels": [{"name": name, **panel} for name, panel in panels.items()],
    }

    def show_table() -> None:
        print(f"{task}, seed {parsed.seed}, as far as the film shows it")
        print_records(panels, next(iter(panels.values())))
        width, height = film.frame_size.width, film.frame_size.height
        print(
            f"video: {parsed.out} ({float(len(film.moments) / film.rate):.1f} s, the last "
            f"{HELD_SECONDS:g} s a still, {width}x{height}, "
            f"{float(film.rate):.4g} frames per second)"
        )
        if parsed.still is not None:
            print(f"picture: {parsed.still}")

    show(document, parsed.json, show_table)
    return 0
