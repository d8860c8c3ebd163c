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


def _flipped(content: bytes, rng: Rng) -> bytes:
    damaged = bytearray(content)
    damaged[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def _block_of_noise(content: bytes, rng: Rng) -> bytes:
    start = rng.randrange(len(content))
    stop = min(len(content), start + rng.randint(1, 512))
    noise = bytes(byte ^ rng.randint(1, 255) for byte in content[start:stop])
    return content[:start] + noise + content[stop:]


def _torch_saved(content: bytes, rng: Rng) -> bytes:
    buffer = io.BytesIO()
    torch.save({"policy": torch.zeros(3)}, buffer)
    return buffer.getvalue()


BYTE_DAMAGE: dict[str, ByteDamage] = {
    "cut short": lambda content, rng: content[: rng.randrange(len(content))],
    "one bit flipped": _flipped,
    "a block of noise": _block_of_noise,
    "noise appended": lambda content, rng: content + rng.randbytes(rng.randint(1, 64)),
    "nothing": lambda content, rng: b"",
    "text instead": lambda content, rng: b"404 Not Found\n" * rng.randint(1, 50),
    "a pickle instead": lambda content, rng: pickle.dumps(TouchesAFile(), rng.randint(0, 5)),
    "torch.save instead": _torch_saved,
}


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


JSON_DAMAGE: dict[str, ByteDamage] = {
    "NaN": lambda content, rng: _replace_some_value(content, rng, "NaN"),
    "a number too large": lambda content, rng: _replace_some_value(content, rng, "1e999"),
    "nested 100,000 deep": lambda content, rng: _replace_some_value(
        content, rng, "[" * 100_000 + "]" * 100_000
    ),
    "half a surrogate pair": lambda content, rng: _replace_some_value(content, rng, '"\\ud800"'),
    "a comment": lambda content, rng: content + b"// edited\n",
    "not UTF-8": lambda content, rng: content.replace(b'"', b'"\xff', 1),
}


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
    "64 GB of nothing": _replaced_by(_sparse),
}


def _changed(
    make: Callable[[Tensor], Tensor], is_fit: Callable[[Tensor], bool] = Tensor.is_floating_point
) -> TensorForgery:
    def forge(tensors: dict[str, Tensor], rng: Rng) -> None:
        fit = [n for n, tensor in tensors.items() if tensor.numel() > 1 and is_fit(tensor)]
        name = rng.choice(sorted(n for n in fit if not n.endswith(("action_low", "action_high"))))
        tensors[name] = make(tensors[name].clone())

    return forge


def _is_oblong(tensor: Tensor) -> bool:
    return tensor.dim() == 2 and tensor.shape[0] != tensor.shape[1]


TENSOR_FORGERIES: dict[str, TensorForgery] = {
    "a tensor missing": lambda tensors, rng: tensors.__delitem__(rng.choice(sorted(tensors))),
    "a tensor too many": lambda tensors, rng: tensors.update(extra=torch.zeros(3)),
    "as float64": _changed(Tensor.double, lambda tensor: tensor.dtype == torch.float32),
    "as float16": _changed(Tensor.half),
    "a column less": _changed(lambda tensor: tensor[..., :-1], lambda tensor: tensor.dim() > 0),
    "one number for all": _changed(lambda tensor: tensor.reshape(-1)[:1]),
    "transposed": _changed(lambda tensor: tensor.T.contiguous(), _is_oblong),
    "NaN": _changed(lambda tensor: tensor.index_fill(0, torch.tensor(0), math.nan)),
    "infinity": _changed(lambda tensor: tensor.index_fill(0, torch.tensor(0), math.inf)),
}


_VALUES = (None, True, -1, 0.5, 2**70, "x", [], [[]], {}, "../../etc/passwd", -(2**62))


def forge_document(document: dict[str, Any], keys: tuple[str, ...], rng: Rng) -> None:
    """Change or remove something below one of `keys`, so that it is no longer what it was."""
    key = rng.choice(keys)
    match rng.choice(("remove", "replace", "inside")):
        case "remove":
            del document[key]
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
