"""Pictures as tests see them: of the right size, and with something on them."""

from pathlib import Path

from matplotlib import image
from matplotlib.colors import to_rgb

from spacil.comparison.pictures import RETURN_COLOUR, SMOOTHNESS_COLOUR

CURVE_SIZE = (840, 720)
RUN_CURVE_SIZE = (840, 960)
"""With the action change, which every evaluation has"""
"""Of a run's learning curve: width and height in pixels."""
CURVE_COLOURS = (RETURN_COLOUR, SMOOTHNESS_COLOUR)


def assert_drawn(path: Path, size: tuple[int, int], colours: tuple[str, ...] = ()) -> None:
    """A PNG of this width and height that is not blank, with some ink of each colour."""
    pixels = image.imread(path)[..., :3]
    assert (pixels.shape[1], pixels.shape[0]) == size
    share_of_ink = (pixels.min(axis=-1) < 0.8).mean()
    assert 0.003 < share_of_ink < 0.9, share_of_ink
    for colour in colours:
        num_pixels = (abs(pixels - to_rgb(colour)).max(axis=-1) < 0.02).sum()
        assert num_pixels > 20, f"{num_pixels} pixels of {colour}"
