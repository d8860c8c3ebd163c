"""Pictures as tests see them: with something on them."""

from pathlib import Path

from matplotlib import image
from matplotlib.colors import to_rgb


def assert_drawn(path: Path, colours: tuple[str, ...] = ()) -> None:
    """A PNG that is not blank, with some ink of each colour."""
    pixels = image.imread(path)[..., :3]
    share_of_ink = (pixels.min(axis=-1) < 0.8).mean()
    assert 0.003 < share_of_ink < 0.9, share_of_ink
    for colour in colours:
        num_pixels = (abs(pixels - to_rgb(colour)).max(axis=-1) < 0.02).sum()
        assert num_pixels > 20, f"{num_pixels} pixels of {colour}"
