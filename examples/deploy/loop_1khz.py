"""An exported policy in a loop of 1 kHz with ONNX Runtime, and how many deadlines it misses.

    spacil export Hopper-v4 -o robot
    python loop_1khz.py robot --seconds 10

Needs numpy and onnxruntime, and neither torch nor spacil. Observations are those of golden.json;
on a robot they come from its sensors, and the action goes to its motors. A policy that was made for
late actions sees its past too: what the session says of it is handed back in the next step.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import onnxruntime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rate", type=float, default=1_000.0, help="actions per second")
    arguments = parser.parse_args()

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # a small network: a second thread only costs
    session = onnxruntime.InferenceSession(
        arguments.folder / "policy.onnx", options, providers=["CPUExecutionProvider"]
    )
    golden = json.loads((arguments.folder / "golden.json").read_text())
    widths = {one.name: one.shape[1] for one in session.get_inputs()}  # the observation, the past
    rows = np.array(golden["observations"], np.float32)
    parts = np.split(rows, np.cumsum([*widths.values()])[:-1], axis=1)
    golden_inputs = dict(zip(widths, parts, strict=True))
    (actions,) = session.run(["action"], golden_inputs)
    difference = np.abs(actions - np.array(golden["actions"], np.float32)).max()
    if not difference <= golden["tolerance"]:
        raise SystemExit(f"self-test failed: off by {difference:.2g}; do not drive")

    num_steps, period = round(arguments.seconds * arguments.rate), 1 / arguments.rate
    late, spent = np.zeros(num_steps), np.zeros(num_steps)
    observations = golden_inputs.pop("observation")
    # The episode begins: nothing is on its way (the bound nearest to 0), and nothing was before.
    facts = json.loads((arguments.folder / "policy.json").read_text())
    rest = np.clip(0.0, facts["action_low"], facts["action_high"])
    begin = {"commands": rest, "past_observations": observations[0]}
    past = {
        name: np.resize(begin[name], (1, widths[name])).astype(np.float32) for name in golden_inputs
    }
    outputs = ["action", *(f"next_{name}" for name in past)]
    start = time.perf_counter()
    for step in range(num_steps):
        began = time.perf_counter()
        observation = observations[step % len(observations)]  # your sensors
        (action,), *next_past = session.run(outputs, {"observation": observation[None], **past})
        past = dict(zip(past, next_past, strict=True))
        spent[step] = time.perf_counter() - began
        assert action.shape == actions[0].shape  # your motors: the action is final
        deadline = start + (step + 1) * period
        late[step] = time.perf_counter() - deadline
        if late[step] > 0:
            start += late[step]  # late by so much: go on from here, not in a burst
            continue
        time.sleep(max(0.0, -late[step] - 2e-4))  # the system wakes us late, so
        while time.perf_counter() < deadline:  # the last 0.2 ms are waited for awake
            pass

    missed = int((late > 0).sum())
    median, p99, worst = (1e6 * np.percentile(spent, share) for share in (50, 99, 100))
    print(f"{num_steps} steps at {arguments.rate:g} Hz, self-test off by {difference:.2g}")
    print(f"computing: median {median:.0f} us, p99 {p99:.0f} us, longest {worst:.0f} us")
    print(f"missed deadlines: {missed} of {num_steps} ({missed / num_steps:.2%})")


if __name__ == "__main__":
    main()
