"""Where the random streams of a run stand."""

from torch import Tensor

from spacil.seeding import Streams


def positions(streams: Streams) -> dict[str, Tensor]:
    return {name: generator.get_state() for name, generator in vars(streams).items()}
