"""What our exports to other formats carry besides the arrays: a document, and a hash over it all.

Most third-party formats have no checksum. With the seal an export of ours comes back as the very
record it was made from, and any number that changed on the way is found. Third-party files have no
seal, and their numbers are trusted as far as they fit together.
"""

from collections.abc import Mapping
from typing import Any

from spacil import storage
from spacil.demos.arrays import EpisodeArrays, tensors_from_arrays
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.metadata import DemoMetadata
from spacil.errors import DataError

FORMAT = "spacil-demonstrations"
_HASH = "content_hash"


def seal(demos: Demonstrations) -> bytes:
    """The document of an export, as JSON."""
    document = demos.metadata.as_document()
    return storage.canonical_json({**document, "format": FORMAT, _HASH: demos.content_hash})


def open_sealed(episodes: Mapping[str, EpisodeArrays], text: bytes, source: str) -> Demonstrations:
    """The record an export was made from; anything else than exactly that is refused."""
    try:
        document = storage.parse_json(text, f"{source}, document of spacil")
        if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
            raise DataError(f"{source}: its document of spacil is not valid")
        stored_hash = document.pop(_HASH, None)
        metadata = DemoMetadata(**document)
    except (storage.DamagedFileError, TypeError) as error:
        raise DataError(f"{source}: its document of spacil is not valid: {error}") from None
    tensors, _ = tensors_from_arrays(episodes, source)
    demos = Demonstrations(**tensors, metadata=metadata, source=source)
    if demos.content_hash != stored_hash:
        raise DataError(
            f"{source}: the arrays are not those it was exported with: changed or damaged. Export "
            "it again, or remove the document of spacil if the change was meant"
        )
    return demos


def imported(
    episodes: Mapping[str, EpisodeArrays],
    text: bytes | None,
    metadata: DemoMetadata,
    change: Mapping[str, Any],
    source: str,
) -> Demonstrations:
    """A record from anyone's file: by its seal where it has one, else with `change` recorded."""
    if text is not None:
        return open_sealed(episodes, text, source)
    return Demonstrations.from_named_arrays(episodes, metadata.with_changes([change]), source)
