"""Where demonstrations come from, as plain JSON values.

Nothing here names a class or a file to import: metadata is compared and printed, never executed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from spacil.errors import DataError
from spacil.storage import canonical_json


@dataclass(frozen=True)
class DemoMetadata:
    """The task, the env's identity, and the history of a record; copied when it is made."""

    task: str | None = None
    """The task's name, e.g. `Hopper-v4`; None when the source does not say."""
    env_fingerprint: Mapping[str, Any] | None = None
    """`EnvSpec.fingerprint` of the env they were recorded in; None when the source does not say."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Who acted and how: policy, command, seed, noise, ...; `changes` lists what was done since."""

    def __post_init__(self) -> None:
        if not isinstance(self.task, str | None):
            raise DataError(f"the task of demonstrations is {self.task!r}, expected a name")
        if self.env_fingerprint is not None:
            fingerprint = plain_json("env_fingerprint", self.env_fingerprint)
            object.__setattr__(self, "env_fingerprint", fingerprint)
        provenance = plain_json("provenance", self.provenance)
        if not isinstance(provenance.get("changes", []), list):
            raise DataError("the provenance's changes are not a list")
        object.__setattr__(self, "provenance", provenance)

    def as_document(self) -> dict[str, Any]:
        """Return the JSON document that a file stores, part of the content hash."""
        return vars(self).copy()

    def with_change(self, operation: str, **details: Any) -> "DemoMetadata":
        """Return the metadata with one more entry at the end of the provenance's `changes`."""
        changes = [*self.provenance.get("changes", []), {"operation": operation, **details}]
        return replace(self, provenance={**self.provenance, "changes": changes})

    @classmethod
    def of_parts(cls, parts: Sequence[tuple["DemoMetadata", int]]) -> "DemoMetadata":
        """Make the metadata of records put together, with their episode counts; one env only.

        What a part does not know about its env is taken from those that do.
        """
        task, fingerprint = parts[0][0].task, parts[0][0].env_fingerprint
        for index, (metadata, _) in enumerate(parts):
            task = metadata.task if task is None else task
            fingerprint = metadata.env_fingerprint if fingerprint is None else fingerprint
            ours, theirs = metadata.env_fingerprint or {}, fingerprint or {}
            is_other = any(ours[key] != theirs[key] for key in ours.keys() & theirs.keys())
            if metadata.task not in (None, task) or is_other:
                raise DataError(
                    f"part {index} is from {metadata.task}, an earlier one from {task}: "
                    "their tasks or env fingerprints differ, so they cannot be put together"
                )
        histories = [
            {"num_episodes": num_episodes, "task": metadata.task, **metadata.provenance}
            for metadata, num_episodes in parts
        ]
        return cls(task, fingerprint, {"parts": histories})


def plain_json(name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Make a deep copy in plain JSON types, equal to itself after a trip through a file."""
    try:
        copy = json.loads(canonical_json(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"the {name} of demonstrations must be plain JSON: {error}") from None
    if not isinstance(copy, dict):
        raise DataError(f"the {name} of demonstrations is {type(value).__name__}, expected a map")
    return copy
