"""`spacil video RUN|POLICY... -o clip.mp4`: policies side by side, their actions beneath."""

import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from spacil.cli.arguments import parse
from spacil.cli.output import JsonTarget, identity, show
from spacil.errors import ConfigError, StorageError

if TYPE_CHECKING:
    from spacil.film.draw import Size
    from spacil.film.render import Film


@dataclass(frozen=True)
class VideoArguments:
    sources: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Run folders, policy or .onnx files, a task's name for its bundled expert, or module:name of
    a torch module, a Stable-Baselines3 model or a function from states to actions."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("clip.mp4")
    """The file to write: .mp4 (H.264, as browsers play it; needs spacil[video]) or .gif."""
    task: str | None = None
    """Task name, or any Gymnasium id whose env simulates with MuJoCo; by default the task the
    policies are from, where they say."""
    seed: int = 0
    """Of the start states: those of `spacil evaluate` with this seed, the same for every policy."""
    seconds: float = 8.0
    """Of simulated time; the film runs in real time, with several episodes if they are short."""
    size: str = "320x240"
    """Width and height of one panel, in pixels."""
    demonstrator: bool = True
    """Show the bundled expert of the task too, where the policies learned from it."""
    which: Literal["best", "last"] = "best"
    """Which policy of a run folder."""
    still: Path | None = None
    """Write the last frame, with the numbers, as a PNG too."""
    json: JsonTarget = None
    quiet: bool = False
    """No progress display."""


def run(arguments: list[str]) -> int:
    parsed = parse(
        VideoArguments,
        arguments,
        "spacil video",
        "Policies side by side from the same start, their actions running beneath. Needs no "
        "display.",
    )
    from spacil.film.render import check_target, write_film
    from spacil.film.video import make_film, open_panels

    size = size_of(parsed.size)
    check_target(parsed.out)  # before anything is opened
    _check_still(parsed.still)
    panels = open_panels([(None, source) for source in parsed.sources], parsed.task, parsed.which)
    if parsed.demonstrator:
        panels = panels.with_demonstrator()
    on_frame = _say_nothing if parsed.quiet else tell
    film = make_film(panels, parsed.seed, parsed.seconds, size, on_frame)
    write_film(film, parsed.out)
    if parsed.still is not None:
        _write_still(film, parsed.still)
    document = identity(task=film.recording.spec.task, seed=parsed.seed) | {
        "video": str(parsed.out),
        **document_of(film),
    }
    show(document, parsed.json, lambda: _print(film, parsed))
    return 0


def size_of(text: str) -> "Size":
    from spacil.film.draw import Size

    found = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text)
    if found is None:
        raise ConfigError(f"--size is {text!r}, expected WIDTHxHEIGHT, e.g. 320x240")
    return Size(int(found[1]), int(found[2]))


def _check_still(path: Path | None) -> None:
    if path is not None and path.suffix.lower() != ".png":
        raise ConfigError(f"{path}: expected a file name that ends in .png")
    if path is not None and not path.absolute().parent.is_dir():
        raise StorageError(f"cannot write {str(path)!r}: create its folder first")


def _say_nothing(num_drawn: int, num_wanted: int) -> None: ...


def tell(num_drawn: int, num_wanted: int) -> None:
    """One line on a terminal, overwritten; nothing elsewhere."""
    if sys.stderr.isatty():
        end = "\n" if num_drawn == num_wanted else ""
        print(f"\rdrawing {num_drawn} of {num_wanted}", end=end, file=sys.stderr, flush=True)


def document_of(film: "Film") -> dict[str, Any]:
    return {
        "num_frames": film.num_frames,
        "frames_per_second": float(film.rate),
        "size": asdict(film.frame_size),
        "common_frame": None if film.recording.frame is None else film.recording.frame.source,
        "panels": [
            {
                "name": one.name,
                "num_episodes": len(one.clips),
                "num_steps": sum(map(len, one.clips)),
                "average_return": one.total_return,
                "smoothness_j": one.smoothness_j,
                "action_fluctuation": one.action_change,
            }
            for one in film.panels
        ],
    }


def _write_still(film: "Film", path: Path) -> None:
    import io

    from PIL import Image

    from spacil import storage

    content = io.BytesIO()
    Image.fromarray(film.still()).save(content, "PNG", optimize=True)
    storage.replace_file(path, content.getvalue())


def _print(film: "Film", parsed: VideoArguments) -> None:
    from spacil.cli.output import print_table

    recording = film.recording
    print(f"{recording.spec.task}, seed {recording.seed}, as far as the film shows it")
    print_table(
        ["", "return", "J", "E|da|", "steps", "episodes"],
        [
            [
                one.name,
                one.total_return,
                one.smoothness_j,
                one.action_change,
                sum(map(len, one.clips)),
                len(one.clips),
            ]
            for one in film.panels
        ],
    )
    size = film.frame_size
    print(
        f"video: {parsed.out} ({film.num_frames / film.rate:.1f} s, {size.width}x{size.height}, "
        f"{float(film.rate):.4g} frames per second)"
    )
    if parsed.still is not None:
        print(f"picture: {parsed.still}")
