"""Pictures of docs/recordings.md: what each cause looks like in a recording.

python experiments/recording_pictures.py     # docs/figures/recordings/*.png
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

import spacil
from seeded_faults import SPLITS, record
from spacil.comparison.figures import Chart, Series, draw_charts

OUT = Path(__file__).parents[1] / "docs" / "figures" / "recordings"
PLAIN = replace(
    SPLITS["tuning"],
    motions=("reaches",),
    rates=(50,),
    joints=(6,),
    seconds=(30, 31),
    natural_hz=(8.0, 9.0),
    severity=(0.03, 0.04),
    encoder=(0.0,),
)
SECONDS = {"timing": 1.0, "limit-cycle": 3.0, "tremor": 3.0, "latency": 3.0}


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    for fault in (
        *("timing", "latency", "chunk-seams", "limit-cycle", "quantisation", "dead-band"),
        *("saturation", "sensor-noise", "rough-policy", "tremor"),
    ):
        made = record((fault,), PLAIN, np.random.default_rng(5))
        found = spacil.diagnose_recording(made.arrays, rate=made.rate)
        names = found.causes[0].joints
        joint = found.log.names.index(names[0]) if names else 0
        clock = found.log.clock if made.time is None else made.time
        rows = slice(300, 300 + int(SECONDS.get(fault, 4.0) * made.rate))
        series = {"command": Series(clock[rows], made.commands[rows, joint])}
        if made.measured is not None:
            series["measured"] = Series(clock[rows], made.measured[rows, joint])
        charts = [Chart("", "seconds", "rad", series)]
        if fault == "timing":
            gaps = {"time since the row before": Series(clock[rows], 1000 * np.diff(clock)[rows])}
            charts = [Chart("", "seconds", "ms", gaps, least_y=0.0)]
        cause = found.causes[0]
        title = f"{cause.cause}: {cause.share:.0%} of the change"
        draw_charts(charts, OUT / f"{fault}.png", size=(7.0, 2.3), title=title)
        print(fault, "->", ", ".join(one.cause for one in found.causes))


if __name__ == "__main__":
    main()
