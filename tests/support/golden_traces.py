"""Short runs whose every number is known, per platform: a change of results is never an accident.

    python tests/support/golden_traces.py     # replace this platform's traces (`make golden`)

Bits depend on the processor and on the versions of the libraries, so traces are kept by both.
"""

import hashlib
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from tiny_runs import DRAWS_FROM_EVERY_STREAM, tiny

import spacil

FILE = Path(__file__).parents[1] / "integration" / "golden_traces.json"
RUNS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "trpo": (spacil.TRPO, {}),
    "gail": (spacil.GAIL, {}),
    "spacil": (spacil.SPaCIL, {"preset": "plain", **DRAWS_FROM_EVERY_STREAM}),
    "bc": (spacil.BC, {}),
    "fast": (
        spacil.SPaCIL,
        {
            "preset": "plain",
            "max_kl": 0.03,
            "initial_log_std": -1.5,
            "fisher_state_fraction": 0.2,
            "warm_start_epochs": 3,
            "warm_start_iterations": 2,
        },
    ),
    "rule": (spacil.SPaCIL, {"warm_start_steps": 30, "warm_start_iterations": 1}),
}
NUM_ITERATIONS = 4

Trace = list[dict[str, Any]]


def platform_key() -> str:
    """What decides the bits, besides our own code."""
    versions = [f"{name} {version(name)}" for name in ("torch", "numpy", "mujoco", "gymnasium")]
    capability = torch.backends.cpu.get_cpu_capability()
    return ", ".join([platform.machine(), _processor(), capability, *versions])


def _processor() -> str:
    """Vendor, family and model: libraries choose their kernels by them."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    facts = {name.strip(): value.strip() for name, _, value in (li.partition(":") for li in lines)}
    return " ".join(facts.get(name, "?") for name in ("vendor_id", "cpu family", "model"))


def trace_of(run: str) -> Trace:
    """One row per iteration: a hash of the policy, and the metrics that do not tell the time."""
    agent_type, settings = RUNS[run]
    agent = agent_type("Reacher-v4", seed=5, **tiny(agent_type.algorithm, **settings))
    trace: Trace = []

    def note(agent: Any, metrics: dict[str, Any]) -> None:
        row = {name: value for name, value in metrics.items() if not name.startswith("seconds")}
        trace.append({"policy": policy_hash(agent.policy), **row})

    agent.learn(NUM_ITERATIONS, callback=note)
    agent.close()
    return trace


def policy_hash(policy: torch.nn.Module) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(policy.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def known_traces() -> dict[str, dict[str, Trace]]:
    known: dict[str, dict[str, Trace]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return known


def main() -> None:
    torch.set_num_threads(1)
    traces = {run: trace_of(run) for run in RUNS}
    known = known_traces() | {platform_key(): traces}
    FILE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"golden traces of {platform_key()} are now those of this code: {FILE}")


if __name__ == "__main__":
    main()
