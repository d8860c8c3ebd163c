"""Row 8 to 10: damaged and forged files are refused, quickly and in words; none is believed."""

import json
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from corrupted_files import (
    BYTE_DAMAGE,
    JSON_DAMAGE,
    PLACE_DAMAGE,
    TENSOR_FORGERIES,
    TRACE,
    ByteDamage,
    PlaceDamage,
    Rng,
    copy_of,
    forge_document,
    forge_inside,
)
from figures import record_figure
from tiny_runs import tiny

import spacil
from spacil import storage
from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.errors import SpacilError
from spacil.learning.on_policy import OnPolicy
from spacil.learning.run import restore
from spacil.policies.file import FORMAT, FORMAT_VERSION
from spacil.policies.open import load_policy, save_policy
from spacil.runs import checkpoint, metrics_log
from spacil.runs.facts import config_of, read_run
from spacil.runs.folder import open_run

MAX_SECONDS = 1.0
CONFIG = with_settings(default_config("gail", "Reacher-v4"), tiny())
POLICY = "my.policy.safetensors"
NEWEST = "iter-000003.safetensors"


@dataclass(frozen=True)
class Target:
    """A folder of good files, ways to spoil a copy of it, and whether what is read is right."""

    good: Path
    damages: dict[str, PlaceDamage]
    is_as_it_was: Callable[[Path], bool]
    """Reads all there is; True if that is what had been written."""


def in_file(name: str, damage: ByteDamage) -> PlaceDamage:
    """Damage to the bytes of one file of the folder."""

    def spoil(folder: Path, rng: Rng) -> None:
        path = folder / name
        path.write_bytes(damage(path.read_bytes(), rng))

    return spoil


def in_place_of(name: str, damage: PlaceDamage) -> PlaceDamage:
    return lambda folder, rng: damage(folder / name, rng)


def labelled(prefix: str, damages: dict[str, PlaceDamage]) -> dict[str, PlaceDamage]:
    return {f"{prefix}: {kind}": damage for kind, damage in damages.items()}


def to_file(
    name: str, *kinds: dict[str, ByteDamage], places: bool = True
) -> dict[str, PlaceDamage]:
    """Every damage of these kinds to one file, and everything that may stand in its place."""
    damages = {kind: in_file(name, damage) for table in kinds for kind, damage in table.items()}
    if places:
        damages |= {kind: in_place_of(name, damage) for kind, damage in PLACE_DAMAGE.items()}
    return labelled(name, damages)


def in_document(damage: ByteDamage) -> ByteDamage:
    """Damage to the JSON document inside the header."""

    def spoil(content: bytes, rng: Rng) -> bytes:
        size = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + size])
        text = header["__metadata__"]["spacil"].encode()
        header["__metadata__"]["spacil"] = damage(text, rng).decode("latin-1")
        changed = json.dumps(header).encode()
        return len(changed).to_bytes(8, "little") + changed + content[8 + size :]

    return spoil


Change = Callable[[dict[str, Any], dict[str, Any], dict[str, Any], Rng], object]


def forged(name: str, form: str, version: int, change: Change) -> PlaceDamage:
    """A file written anew, every hash right, with different content."""

    def spoil(copy: Path, rng: Rng) -> None:
        sealed = storage.load_sealed(copy / name, form, version)
        change(sealed.tensors, sealed.document, sealed.notes, rng)
        storage.save_sealed(
            copy / name, sealed.tensors, sealed.document, form, version, sealed.notes
        )

    return spoil


def sealed_damages(
    name: str, form: str, version: int, keys: tuple[str, ...], **others: Change
) -> dict[str, PlaceDamage]:
    damages = to_file(name, BYTE_DAMAGE)
    damages |= labelled(
        "document", {kind: in_file(name, in_document(d)) for kind, d in JSON_DAMAGE.items()}
    )
    forgeries: dict[str, Change] = {
        kind: lambda tensors, document, notes, rng, forge=forge: forge(tensors, rng)
        for kind, forge in TENSOR_FORGERIES.items()
    }
    forgeries["document"] = lambda tensors, document, notes, rng: forge_document(
        document, keys, rng
    )
    made = {
        kind: forged(name, form, version, change) for kind, change in (forgeries | others).items()
    }
    return damages | labelled("forged", made)


def policy_target(folder: Path, finished: Path) -> Target:
    saved = load_policy(finished)
    folder.mkdir()
    save_policy(saved.policy, folder / POLICY, saved.task, {"iteration": 3})
    expected = saved.policy.state_dict()

    def is_as_it_was(copy: Path) -> bool:
        found = load_policy(copy / POLICY)
        tensors = found.policy.state_dict()
        return found.task == saved.task and all(
            torch.equal(tensors[name], tensor) for name, tensor in expected.items()
        )

    keys = ("task", "num_states", "hidden", "num_actions")
    return Target(folder, sealed_damages(POLICY, FORMAT, FORMAT_VERSION, keys), is_as_it_was)


def without_notes(
    tensors: dict[str, Any], document: dict[str, Any], notes: dict[str, Any], rng: Rng
) -> None:
    del notes[rng.choice(("software", "free_settings"))]


def checkpoint_target(folder: Path, finished: Path, learner: OnPolicy) -> Target:
    folder.mkdir()
    shutil.copy(finished / "checkpoints" / NEWEST, folder)
    expected = checkpoint.read(folder / NEWEST).content_hash
    damages = sealed_damages(
        NEWEST,
        checkpoint.FORMAT,
        checkpoint.FORMAT_VERSION,
        ("counters", "env", "demonstrations", "policy", "config"),
        best=lambda tensors, document, notes, rng: forge_inside(document, "best", rng),
        notes=without_notes,
    )

    def is_as_it_was(copy: Path) -> bool:
        found = checkpoint.read(copy / NEWEST)
        config_of(found.settings, found.path)
        load_policy(copy / NEWEST)
        restore(learner, found)
        return found.content_hash == expected

    return Target(folder, damages, is_as_it_was)


def misnamed(folder: Path, rng: Rng) -> None:
    checkpoints = folder / "checkpoints"
    name = checkpoint.file_name(rng.randint(4, 10**9))
    shutil.copy(checkpoints / NEWEST, checkpoints / name)


def all_damaged(folder: Path, rng: Rng) -> None:
    for path in (folder / "checkpoints").glob("iter-*"):
        in_file(path.name, BYTE_DAMAGE["one bit flipped"])(path.parent, rng)


def run_target(folder: Path, finished: Path) -> Target:
    shutil.copytree(finished, folder, ignore=shutil.ignore_patterns("tensorboard"))
    checkpoints = folder / "checkpoints"
    hashes = {path.name: checkpoint.read(path).content_hash for path in checkpoints.glob("iter-*")}
    best = checkpoint.best(checkpoints)
    damages: dict[str, PlaceDamage] = {}
    for name in (NEWEST, checkpoint.BEST):
        damages |= to_file(f"checkpoints/{name}", BYTE_DAMAGE)
    damages |= to_file("run.json", BYTE_DAMAGE, JSON_DAMAGE)
    damages |= to_file("metrics.jsonl", BYTE_DAMAGE)
    damages |= {"a checkpoint misnamed": misnamed, "all checkpoints damaged": all_damaged}

    def is_as_it_was(copy: Path) -> bool:
        newest = checkpoint.newest(copy / "checkpoints")
        found_best = checkpoint.best(copy / "checkpoints")
        metrics_log.read(copy / "metrics.jsonl")  # no hash protects it: refused or read, no more
        open_run(CONFIG, run_dir=copy, resume=True).close()
        if newest is None or found_best is None:  # a file was deleted, and nothing is in its place
            return True
        is_newest_right = newest.content_hash == hashes.get(newest.path.name)
        is_config_right = read_run(copy).config == CONFIG
        return is_config_right and is_newest_right and found_best.content_hash == best.content_hash

    return Target(folder, damages, is_as_it_was)


@pytest.fixture(scope="module")
def targets(
    tmp_path_factory: pytest.TempPathFactory, _finished_run: Path
) -> Iterator[dict[str, Target]]:
    folder = tmp_path_factory.mktemp("good")
    learner = OnPolicy(CONFIG, "Reacher-v4", spacil.load_demos("Reacher-v4"))
    yield {
        "checkpoint": checkpoint_target(folder / "checkpoint", _finished_run, learner),
        "policy file": policy_target(folder / "policy", _finished_run),
        "run folder": run_target(folder / "run", _finished_run),
    }
    learner.close()


def outcome_of(target: Target, kind: str, copy: Path, rng: Rng) -> str:
    """What became of one spoilt copy; anything but a typed error or the right content raises."""
    target.damages[kind](copy_of(target.good, copy), rng)
    started = time.process_time()
    try:
        is_right = target.is_as_it_was(copy)
    except SpacilError as error:
        assert str(error) and error.exit_code in (2, 65, 73, 74)
        outcome = "refused"
    else:
        assert is_right, "silently accepted"
        outcome = "read as it was written"
    assert time.process_time() - started < MAX_SECONDS, "slow"
    return outcome


def campaign(
    targets: dict[str, Target], shares: dict[str, int], copy: Path, seed: int
) -> dict[str, Counter[str]]:
    """So many spoilt copies of each target, its damages in turn; outcomes by target."""
    outcomes: dict[str, Counter[str]] = {}
    failures: list[str] = []
    for name, share in shares.items():
        kinds = list(targets[name].damages)
        random.Random(seed).shuffle(kinds)
        outcomes[name] = Counter()
        for number in range(share):
            kind = kinds[number % len(kinds)]
            case = f"{name}, {kind}, seed {seed}, number {number}"
            try:
                rng = random.Random(case)
                outcomes[name][outcome_of(targets[name], kind, copy, rng)] += 1
            except Exception as error:
                failures.append(f"{case}: {type(error).__name__}: {error}")
    assert not failures, "\n".join(failures)
    return outcomes


SHARES = {"checkpoint": 3400, "policy file": 1800, "run folder": 1800}


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a payload that ran would leave its trace."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "copy"


def test_350_spoilt_files_are_refused_or_whole(targets: dict[str, Target], in_folder: Path) -> None:
    shares = {name: share // 20 for name, share in SHARES.items()}
    outcomes = campaign(targets, shares, in_folder, seed=0)
    assert sum(sum(counts.values()) for counts in outcomes.values()) == 350
    assert not TRACE.exists()


@pytest.mark.slow
def test_7000_spoilt_files_are_refused_or_good(targets: dict[str, Target], in_folder: Path) -> None:
    outcomes = campaign(targets, SHARES, in_folder, seed=1)
    assert not TRACE.exists()
    figures = {name: dict(counts) for name, counts in outcomes.items()}
    record_figure("corrupted_files", {"cases": sum(SHARES.values()), "outcomes": figures})


def test_good_files_are_read_as_written(targets: dict[str, Target], in_folder: Path) -> None:
    for target in targets.values():
        assert target.is_as_it_was(copy_of(target.good, in_folder))
