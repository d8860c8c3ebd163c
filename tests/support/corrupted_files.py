"""Files as they come back from broken disks, hasty hands and attackers.

Three depths of damage: to the bytes of a file; to what stands in its place; and to its meaning,
with every hash recomputed so that only the checks of the content itself are left to find it.
"""

import io
import json
import math
import os
import pickle
import random
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

Rng = random.Random
ByteDamage = Callable[[bytes, Rng], bytes]
PlaceDamage = Callable[[Path, Rng], None]
TensorForgery = Callable[[dict[str, Tensor], Rng], None]

TRACE = Path("the-payload-ran")
"""Appears in the working folder if any of the pickles is ever opened."""


class TouchesAFile:
    """A pickle of this runs code when it is opened."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.system, (f"touch {TRACE}",))


# --- the bytes of a file


def _flipped(content: bytes, rng: Rng, num_bits: int) -> bytes:
    damaged = bytearray(content)
    for position in rng.sample(range(len(content)), min(num_bits, len(content))):
        damaged[position] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def _span(content: bytes, rng: Rng) -> tuple[int, int]:
    start = rng.randrange(len(content))
    return start, min(len(content), start + rng.randint(1, 512))


def _with_span(content: bytes, rng: Rng, replace: Callable[[bytes], bytes]) -> bytes:
    start, stop = _span(content, rng)
    return content[:start] + replace(content[start:stop]) + content[stop:]


def _noise_of(length: int, rng: Rng) -> bytes:
    return rng.randbytes(length)


def _zip_of_pickle() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(TouchesAFile()))
    return buffer.getvalue()


def _torch_saved() -> bytes:
    buffer = io.BytesIO()
    torch.save({"policy": torch.zeros(3)}, buffer)
    return buffer.getvalue()


BYTE_DAMAGE: dict[str, ByteDamage] = {
    "cut short": lambda content, rng: content[: rng.randrange(len(content))],
    "cut at the front": lambda content, rng: content[rng.randrange(1, len(content)) :],
    "one bit flipped": lambda content, rng: _flipped(content, rng, 1),
    "bits flipped": lambda content, rng: _flipped(content, rng, rng.randint(2, 64)),
    "a block of zeros": lambda content, rng: _with_span(
        content, rng, lambda span: bytes(len(span)) if any(span) else b"\x01" * len(span)
    ),
    "a block lost": lambda content, rng: _with_span(content, rng, lambda span: b""),
    "a block twice": lambda content, rng: _with_span(content, rng, lambda span: span + span),
    "a block of noise": lambda content, rng: _with_span(
        content, rng, lambda span: bytes(byte ^ rng.randint(1, 255) for byte in span)
    ),
    "noise appended": lambda content, rng: content + _noise_of(rng.randint(1, 64), rng),
    "noise instead": lambda content, rng: _noise_of(rng.randint(1, 2048), rng),
    "nothing": lambda content, rng: b"",
    "text instead": lambda content, rng: b"404 Not Found\n" * rng.randint(1, 50),
    "a pickle instead": lambda content, rng: pickle.dumps(TouchesAFile(), rng.randint(0, 5)),
    "a pickle in front": lambda content, rng: pickle.dumps(TouchesAFile(), 4) + content,
    "a zip of a pickle": lambda content, rng: _zip_of_pickle(),
    "torch.save instead": lambda content, rng: _torch_saved(),
    "a numpy array instead": lambda content, rng: b"\x93NUMPY\x01\x00" + content[8:],
    "HDF5 instead": lambda content, rng: b"\x89HDF\r\n\x1a\n" + content[8:],
}


# --- the text of a JSON file


def _replace_some_value(content: bytes, rng: Rng, text: str) -> bytes:
    """Put `text` where some number, word or container stands."""
    document = json.loads(content)
    marker = "\x00here"
    container, key = rng.choice(_places(document))
    container[key] = marker
    return json.dumps(document).replace(json.dumps(marker), text).encode()


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside a JSON document."""
    places = []
    members = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in members:
        places.append((document, key))
        if isinstance(value, dict | list):
            places += _places(value)
    return places


def _with_key_twice(content: bytes, rng: Rng) -> bytes:
    document = json.loads(content)
    key = rng.choice(list(document))
    return b"{" + f"{json.dumps(key)}: {json.dumps(document[key])}, ".encode() + content[1:]


JSON_DAMAGE: dict[str, ByteDamage] = {
    "NaN": lambda content, rng: _replace_some_value(content, rng, "NaN"),
    "Infinity": lambda content, rng: _replace_some_value(content, rng, "-Infinity"),
    "a number too large": lambda content, rng: _replace_some_value(content, rng, "1e999"),
    "a number of 10,000 digits": lambda content, rng: _replace_some_value(
        content, rng, "9" * 10_000
    ),
    "nested 100,000 deep": lambda content, rng: _replace_some_value(
        content, rng, "[" * 100_000 + "]" * 100_000
    ),
    "nested 33 deep": lambda content, rng: _replace_some_value(content, rng, "[" * 33 + "]" * 33),
    "100,000 lists": lambda content, rng: _replace_some_value(
        content, rng, "[" + "[]," * rng.randint(40_000, 60_000) + "[]]"
    ),
    "half a surrogate pair": lambda content, rng: _replace_some_value(content, rng, '"\\ud800"'),
    "a key twice": _with_key_twice,
    "a comment": lambda content, rng: content + b"// edited\n",
    "UTF-16": lambda content, rng: content.decode().encode("utf-16"),
    "a byte order mark": lambda content, rng: b"\xef\xbb\xbf" + content,
    "not UTF-8": lambda content, rng: content.replace(b'"', b'"\xff', 1),
}


# --- what stands in its place


def _replaced_by(make: Callable[[Path], None]) -> PlaceDamage:
    def damage(path: Path, rng: Rng) -> None:
        path.unlink()
        make(path)

    return damage


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(64 * 2**30)


PLACE_DAMAGE: dict[str, PlaceDamage] = {
    "missing": _replaced_by(lambda path: None),
    "a folder": _replaced_by(lambda path: path.mkdir()),
    "a pipe": _replaced_by(os.mkfifo),
    "a link to /dev/zero": _replaced_by(lambda path: path.symlink_to("/dev/zero")),
    "a link to itself": _replaced_by(lambda path: path.symlink_to(path.name)),
    "a link to nothing": _replaced_by(lambda path: path.symlink_to("nowhere")),
    "a link to a secret": _replaced_by(lambda path: path.symlink_to("/etc/passwd")),
    "64 GB of nothing": _replaced_by(_sparse),
}


# --- the header of a safetensors file


def _with_header(content: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    changed = change(header)
    text = changed if isinstance(changed, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + size :]


def _some_entry(header: dict[str, Any], rng: Rng) -> dict[str, Any]:
    names = [name for name in header if name != "__metadata__"]
    entry: dict[str, Any] = header[rng.choice(names)]
    return entry


def _entry_changed(key: str, values: list[Any]) -> ByteDamage:
    """An entry of the header whose `key` is one of `values`, where it was not before."""

    def damage(content: bytes, rng: Rng) -> bytes:
        def change(header: dict[str, Any]) -> None:
            entry = _some_entry(header, rng)
            entry[key] = rng.choice([value for value in values if value != entry.get(key)])

        return _with_header(content, change)

    return damage


def _offsets_swapped(content: bytes, rng: Rng) -> bytes:
    """Two tensors of one size exchange their places: only a hash of the content can tell."""

    def change(header: dict[str, Any]) -> None:
        entries = [entry for name, entry in header.items() if name != "__metadata__"]
        first, second = rng.sample(entries, 2)
        first["data_offsets"], second["data_offsets"] = (
            second["data_offsets"],
            first["data_offsets"],
        )

    return _with_header(content, change)


def _name_twice(content: bytes, rng: Rng) -> bytes:
    def change(header: dict[str, Any]) -> bytes:
        name = rng.choice([name for name in header if name != "__metadata__"])
        text = json.dumps(header)
        return f"{{{json.dumps(name)}: {json.dumps(header[name])}, {text[1:]}".encode()

    return _with_header(content, change)


HEADER_DAMAGE: dict[str, ByteDamage] = {
    "another dtype": _entry_changed("dtype", ["F64", "F16", "I64", "BOOL", "U8", "C64", "", 7]),
    "another shape": _entry_changed(
        "shape", [[], [0], [-1], [2**62], [2**32, 2**32], [1, 1, 1], [1.5], "7", None, [True]]
    ),
    "other offsets": _entry_changed(
        "data_offsets", [[0, 0], [0, 2**62], [-8, 0], [8, 0], [0], [], [0, 1, 2], "0", [0.0, 4.0]]
    ),
    "offsets exchanged": _offsets_swapped,
    "a name twice": _name_twice,
    "a header longer than the file": lambda content, rng: (
        struct.pack("<Q", len(content) + rng.randint(1, 2**40)) + content[8:]
    ),
    "a header of 2^63 bytes": lambda content, rng: struct.pack("<Q", 2**63) + content[8:],
    "an empty header": lambda content, rng: struct.pack("<Q", 2) + b"{}" + content[8:],
    "a list as header": lambda content, rng: _with_header(content, lambda header: b"[1, 2]"),
    "a payload cut short": lambda content, rng: content[: -rng.randint(1, 64)],
    "a payload too long": lambda content, rng: content + bytes(rng.randint(1, 64)),
}


# --- tensors with another meaning, to be sealed again


def _some_name(tensors: dict[str, Tensor], rng: Rng, is_fit: Callable[[Tensor], bool]) -> str:
    return rng.choice(sorted(name for name, tensor in tensors.items() if is_fit(tensor)))


def _change(
    tensors: dict[str, Tensor],
    rng: Rng,
    make: Callable[[Tensor], Tensor],
    is_fit: Callable[[Tensor], bool] = lambda tensor: True,
) -> None:
    name = _some_name(tensors, rng, is_fit)
    tensors[name] = make(tensors[name])


def _poison(tensors: dict[str, Tensor], rng: Rng, value: float) -> None:
    def poisoned(tensor: Tensor) -> Tensor:
        tensor = tensor.clone()
        tensor.view(-1)[rng.randrange(tensor.numel())] = value
        return tensor

    names = [name for name in tensors if not name.endswith(("action_low", "action_high"))]
    fit = {
        name: tensors[name]
        for name in names
        if tensors[name].is_floating_point() and tensors[name].numel()
    }
    name = rng.choice(sorted(fit))
    tensors[name] = poisoned(tensors[name])


def _lose(tensors: dict[str, Tensor], rng: Rng) -> None:
    del tensors[rng.choice(sorted(tensors))]


def _renamed(tensors: dict[str, Tensor], rng: Rng, new_name: str) -> None:
    name = rng.choice(sorted(tensors))
    tensors[new_name] = tensors.pop(name)


def _is_matrix(tensor: Tensor) -> bool:
    return tensor.dim() == 2 and tensor.shape[0] != tensor.shape[1]


TENSOR_FORGERIES: dict[str, TensorForgery] = {
    "a tensor missing": lambda tensors, rng: _lose(tensors, rng),
    "a tensor too many": lambda tensors, rng: tensors.update(extra=torch.zeros(3)),
    "a tensor renamed": lambda tensors, rng: _renamed(tensors, rng, "../../policy.mean_net"),
    "as float64": lambda tensors, rng: _change(
        tensors, rng, Tensor.double, lambda tensor: tensor.dtype == torch.float32
    ),
    "as float16": lambda tensors, rng: _change(
        tensors, rng, Tensor.half, lambda tensor: tensor.is_floating_point()
    ),
    "as integers": lambda tensors, rng: _change(
        tensors, rng, Tensor.int, lambda tensor: tensor.is_floating_point()
    ),
    "a column less": lambda tensors, rng: _change(
        tensors, rng, lambda tensor: tensor[..., :-1], lambda tensor: tensor.dim() > 0
    ),
    "one number for all": lambda tensors, rng: _change(
        tensors, rng, lambda tensor: tensor.reshape(-1)[:1], lambda tensor: tensor.numel() > 1
    ),
    "transposed": lambda tensors, rng: _change(
        tensors, rng, lambda tensor: tensor.T.contiguous(), _is_matrix
    ),
    "flattened": lambda tensors, rng: _change(tensors, rng, torch.flatten, _is_matrix),
    "empty": lambda tensors, rng: _change(
        tensors, rng, lambda tensor: tensor.reshape(-1)[:0], lambda tensor: tensor.numel() > 0
    ),
    "NaN": lambda tensors, rng: _poison(tensors, rng, math.nan),
    "infinity": lambda tensors, rng: _poison(tensors, rng, math.inf),
}


# --- documents with another meaning, to be sealed again

_VALUES = (None, True, -1, 0.5, 2**70, "x", [], [[]], {}, "../../etc/passwd", -(2**62))


def forge_document(document: dict[str, Any], keys: tuple[str, ...], rng: Rng) -> None:
    """Change, remove or add something below one of `keys`, so that it is no longer what it was."""
    key = rng.choice(keys)
    match rng.choice(("remove", "add", "replace", "inside")):
        case "remove":
            del document[key]
        case "add" if isinstance(document[key], dict):
            document[key]["extra"] = rng.choice(_VALUES)
        case "inside" if isinstance(document[key], dict | list) and document[key]:
            forge_inside(document, key, rng)
        case _:
            document[key] = _other_kind(document[key], rng)


def forge_inside(document: dict[str, Any], key: str, rng: Rng) -> None:
    """Give something inside `document[key]` another type."""
    container, place = rng.choice(_places(document[key]))
    container[place] = _other_kind(container[place], rng)


def _other_kind(value: Any, rng: Rng) -> Any:
    """A value of another type; a number of another type would be the same number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    others = [
        other
        for other in _VALUES
        if type(other) is not type(value)
        and not (is_number and isinstance(other, int | float) and not isinstance(other, bool))
    ]
    return rng.choice(others)


def copy_of(folder: Path, target: Path) -> Path:
    """A fresh copy to be damaged; whatever the last case left there goes."""
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(folder, target, symlinks=True))
