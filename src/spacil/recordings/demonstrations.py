"""What a person's or a robot's demonstrations shake with, for `spacil demos check`."""

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.findings import Finding
from spacil.errors import DataError
from spacil.recordings.diagnosis import diagnose_recording

LOOKED_FOR = ("tremor", "chunk-seams", "quantisation", "rough-policy", "sensor-noise", "latency")
"""Causes that imitation would copy, or has to know of"""


def shaking_in(demos: Demonstrations) -> tuple[Finding, ...]:
    """Warn of what demonstrations of a known rate shake with; nothing is said of simulated ones.

    LeRobot and robomimic datasets state their rate; a policy's episodes from a simulator do not.
    """
    provenance = demos.metadata.provenance
    about = provenance.get("lerobot") or provenance.get("robomimic") or {}
    if not about.get("fps") or demos.is_thinned or not demos.num_actions:
        return ()
    arrays = {"commands": demos.executed_actions.numpy(), "episode": demos.episode_of_step.numpy()}
    if demos.num_states == demos.num_actions:
        arrays["measured"] = demos.states.numpy()
    names = about.get("names", {}).get("action") or ()
    try:
        found = diagnose_recording(arrays, rate=about["fps"], names=names, source=demos.source)
    except DataError:  # too short, or not finite, which other checks say
        return ()
    findings = []
    for one in found.causes:
        if one.cause not in LOOKED_FOR:
            continue
        text = one.evidence
        if one.cause == "tremor":
            tones = list(one.numbers["hz"].items())[:3]
            where = ", ".join(f"{hz:.0f} Hz in {name}" for name, hz in tones)
            text = f"your teleoperation trembles at {where}: {text}"
        message = f"{demos.source}: {text}. {one.remedy}"
        findings.append(Finding("warning", f"recording_{one.cause.replace('-', '_')}", message))
    return tuple(findings)
