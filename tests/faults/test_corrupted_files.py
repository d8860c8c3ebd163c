"""Row 8 to 10: damaged and forged files are refused, quickly and in words; none is believed."""

import hashlib
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
    HEADER_DAMAGE,
    JSON_DAMAGE,
    MANIFEST_FORGERIES,
    PLACE_DAMAGE,
    TENSOR_FORGERIES,
    TRACE,
    ByteDamage,
    PlaceDamage,
    Rng,
    copy_of,
    forge_document,
    forge_inside,
    reseal_manifest,
)
from figures import record_figure
from tiny_runs import tiny

import spacil
from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.errors import SpacilError
from spacil.learning.on_policy import OnPolicy
from spacil.learning.saved_run import restore, saved_config
from spacil.policies.file import FORMAT, FORMAT_VERSION
from spacil.policies.open import load_policy, save_policy
from spacil.runs import metrics_log
from spacil.runs.checkpoints import checkpoint
from spacil.runs.folder import open_run
from spacil.runs.resuming import config_of_run
from spacil.storage import sealed_file as single_file

MAX_SECONDS = 1.0
CONFIG = with_settings(default_config("gail", "Reacher-v4"), tiny())
POLICY = "my.policy.safetensors"
STATE_FILES = ("state.safetensors", "state.json", "manifest.json")
NEWEST = "iter-000003"


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


# --- policy files


def policy_target(folder: Path, finished: Path) -> Target:
    saved = load_policy(finished)
    folder.mkdir()
    save_policy(saved.policy, folder / POLICY, saved.task, {"iteration": 3})
    expected = saved.policy.state_dict()

    def forged(change: Callable[[dict[str, Any], dict[str, Any], Rng], None]) -> PlaceDamage:
        def spoil(copy: Path, rng: Rng) -> None:
            tensors, document = single_file.load(copy / POLICY, FORMAT, FORMAT_VERSION)
            change(tensors, document, rng)
            single_file.save(copy / POLICY, tensors, document, FORMAT, FORMAT_VERSION)

        return spoil

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

    def is_as_it_was(copy: Path) -> bool:
        found = load_policy(copy / POLICY)
        tensors = found.policy.state_dict()
        return found.task == saved.task and all(
            torch.equal(tensors[name], tensor) for name, tensor in expected.items()
        )

    keys = ("task", "num_states", "hidden", "num_actions")
    damages = to_file(POLICY, BYTE_DAMAGE, HEADER_DAMAGE)
    damages |= labelled(
        "document", {kind: in_file(POLICY, in_document(d)) for kind, d in JSON_DAMAGE.items()}
    )
    damages |= labelled(
        "forged",
        {
            kind: forged(lambda tensors, document, rng, forge=forge: forge(tensors, rng))
            for kind, forge in TENSOR_FORGERIES.items()
        }
        | {"document": forged(lambda tensors, document, rng: forge_document(document, keys, rng))},
    )
    return Target(folder, damages, is_as_it_was)


# --- checkpoints


def resealed(name: str, damage: ByteDamage) -> PlaceDamage:
    """Damage to one file that the manifest then vouches for."""

    def spoil(folder: Path, rng: Rng) -> None:
        in_file(name, damage)(folder, rng)
        content = (folder / name).read_bytes()
        part = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        reseal_manifest(folder, lambda manifest: manifest["files"].update({name: part}))

    return spoil


def rewritten(change: Callable[[dict[str, Any], dict[str, Any], Rng], None]) -> PlaceDamage:
    """A checkpoint written anew, every hash right, with different content."""

    def spoil(folder: Path, rng: Rng) -> None:
        found = checkpoint.read(folder)
        change(found.tensors, found.document, rng)
        shutil.rmtree(folder)
        scratch = folder.with_name("scratch")
        path = checkpoint.write(
            scratch, found.iteration, found.tensors, found.document, found.manifest["provenance"]
        )
        path.rename(folder)
        shutil.rmtree(scratch)

    return spoil


def without_provenance(folder: Path, rng: Rng) -> None:
    key = rng.choice(("software", "free_settings"))
    reseal_manifest(folder, lambda manifest: manifest["provenance"].pop(key))


def checkpoint_target(folder: Path, finished: Path, learner: OnPolicy) -> Target:
    shutil.copytree(finished / "checkpoints" / NEWEST, folder)
    older = finished / "checkpoints" / "iter-000002"
    expected = checkpoint.read(folder).content_hash
    damages = to_file("state.safetensors", BYTE_DAMAGE, HEADER_DAMAGE)
    for name in ("state.json", "manifest.json"):
        damages |= to_file(name, BYTE_DAMAGE, JSON_DAMAGE)
    vouched = {"state.safetensors": HEADER_DAMAGE, "state.json": JSON_DAMAGE}
    for name, table in vouched.items():
        damages |= labelled(
            f"{name}, vouched for",
            {kind: resealed(name, damage) for kind, damage in (BYTE_DAMAGE | table).items()},
        )
    damages |= labelled(
        "manifest",
        {
            kind: lambda copy, rng, forge=forge: reseal_manifest(
                copy, lambda manifest: forge(manifest, rng)
            )
            for kind, forge in MANIFEST_FORGERIES.items()
        },
    )
    damages |= labelled(
        "swapped with an older one's",
        {
            name: lambda copy, rng, name=name: shutil.copy(older / name, copy / name) and None
            for name in STATE_FILES
        },
    )
    keys = ("counters", "env", "demonstrations", "policy", "config")
    damages |= labelled(
        "forged",
        {
            kind: rewritten(lambda tensors, document, rng, forge=forge: forge(tensors, rng))
            for kind, forge in TENSOR_FORGERIES.items()
        }
        | {
            "document": rewritten(
                lambda tensors, document, rng: forge_document(document, keys, rng)
            ),
            "best": rewritten(lambda tensors, document, rng: forge_inside(document, "best", rng)),
            "provenance": without_provenance,
        },
    )

    def is_as_it_was(copy: Path) -> bool:
        found = checkpoint.read(copy)
        saved_config(found)
        load_policy(copy)
        restore(learner, found)
        return found.content_hash == expected

    return Target(folder, damages, is_as_it_was)


# --- run folders and their settings


def some_checkpoint(damage: PlaceDamage) -> PlaceDamage:
    """Damage to one file of the newest or of the best checkpoint."""

    def spoil(folder: Path, rng: Rng) -> None:
        best = next((folder / "checkpoints" / "best").glob("iter-*"))
        chosen = rng.choice((folder / "checkpoints" / NEWEST, best))
        damage(chosen / rng.choice(STATE_FILES), rng)

    return spoil


def exchanged(folder: Path, rng: Rng) -> None:
    checkpoints = folder / "checkpoints"
    first, second = rng.sample(sorted(checkpoints.glob("iter-*")), 2)
    first.rename(checkpoints / "aside")
    second.rename(first)
    (checkpoints / "aside").rename(second)


def misnamed(folder: Path, rng: Rng) -> None:
    checkpoints = folder / "checkpoints"
    shutil.copytree(checkpoints / NEWEST, checkpoints / f"iter-{rng.randint(4, 10**9):06d}")


def linked(folder: Path, rng: Rng) -> None:
    newest = folder / "checkpoints" / NEWEST
    newest.rename(folder / "elsewhere")
    newest.symlink_to(folder / "elsewhere")


def all_damaged(folder: Path, rng: Rng) -> None:
    for path in (folder / "checkpoints").glob("iter-*"):
        in_file(rng.choice(STATE_FILES), BYTE_DAMAGE["one bit flipped"])(path, rng)


def hinted_elsewhere(folder: Path, rng: Rng) -> None:
    hint = rng.choice(["../../..", "/etc", "best", "", "\0", "x" * 300, "iter-000001", "iter-9"])
    for place in (".", "best"):
        (folder / "checkpoints" / place / "LATEST").write_text(hint)


def run_target(folder: Path, finished: Path) -> Target:
    shutil.copytree(finished, folder, ignore=shutil.ignore_patterns("tensorboard"))
    checkpoints = folder / "checkpoints"
    hashes = {path.name: checkpoint.read(path).content_hash for path in checkpoints.glob("iter-*")}
    best = checkpoint.read_best(checkpoints)
    assert best is not None
    damages = {
        f"some checkpoint: {kind}": some_checkpoint(
            lambda path, rng, damage=damage: (
                path.write_bytes(damage(path.read_bytes(), rng)) and None
            )
        )
        for kind, damage in BYTE_DAMAGE.items()
    }
    damages |= {
        f"some checkpoint: {kind}": some_checkpoint(damage) for kind, damage in PLACE_DAMAGE.items()
    }
    for name in ("config.json", "status.json", "owner.json"):
        damages |= to_file(name, BYTE_DAMAGE, JSON_DAMAGE)
    damages |= to_file("metrics.jsonl", BYTE_DAMAGE)
    damages |= {
        "checkpoints exchanged": exchanged,
        "a checkpoint misnamed": misnamed,
        "a checkpoint behind a link": linked,
        "all checkpoints damaged": all_damaged,
        "hints to elsewhere": hinted_elsewhere,
    }

    def is_as_it_was(copy: Path) -> bool:
        newest = checkpoint.newest_valid(copy / "checkpoints")
        found_best = checkpoint.read_best(copy / "checkpoints")
        metrics_log.read(copy / "metrics.jsonl")  # no hash protects it: refused or read, no more
        open_run(CONFIG, run_dir=copy, resume=True).close()
        assert newest is not None and found_best is not None
        is_newest_right = newest.content_hash == hashes.get(f"iter-{newest.iteration:06d}")
        return is_newest_right and found_best.content_hash == best.content_hash

    return Target(folder, damages, is_as_it_was)


def config_target(folder: Path, finished: Path) -> Target:
    folder.mkdir()
    for name in ("config.json", "run.lock"):
        shutil.copy(finished / name, folder / name)

    def forged(copy: Path, rng: Rng) -> None:
        flat = json.loads((copy / "config.json").read_text())
        forge_document(flat, tuple(sorted(flat)), rng)
        (copy / "config.json").write_text(json.dumps(flat))

    def is_as_it_was(copy: Path) -> bool:
        # Resuming compares with the settings it is given; those are the ones that count.
        open_run(CONFIG, run_dir=copy, resume=True).close()
        return config_of_run(copy) == CONFIG

    damages = to_file("config.json", BYTE_DAMAGE, JSON_DAMAGE) | {"config.json: forged": forged}
    return Target(folder, damages, is_as_it_was)


# --- the campaign


@pytest.fixture(scope="module")
def targets(
    tmp_path_factory: pytest.TempPathFactory, _finished_run: Path
) -> Iterator[dict[str, Target]]:
    folder = tmp_path_factory.mktemp("good")
    learner = OnPolicy(CONFIG, "Reacher-v4", spacil.load_demos("Reacher-v4"))
    yield {
        "checkpoint": checkpoint_target(folder / "checkpoint", _finished_run, learner),
        "policy file": policy_target(folder / "policy", _finished_run),
        "config": config_target(folder / "config", _finished_run),
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


SHARES = {"checkpoint": 3000, "policy file": 1600, "config": 1000, "run folder": 1400}


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a payload that ran would leave its trace."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "copy"


def test_350_spoilt_files_are_refused_or_read_as_they_were_written(
    targets: dict[str, Target], in_folder: Path
) -> None:
    shares = {name: share // 20 for name, share in SHARES.items()}
    outcomes = campaign(targets, shares, in_folder, seed=0)
    assert sum(sum(counts.values()) for counts in outcomes.values()) == 350
    assert not TRACE.exists()


@pytest.mark.slow
def test_7000_spoilt_files_are_refused_or_read_as_they_were_written(
    targets: dict[str, Target], in_folder: Path
) -> None:
    outcomes = campaign(targets, SHARES, in_folder, seed=1)
    assert not TRACE.exists()
    record_figure(
        "corrupted_files",
        {
            "cases": sum(SHARES.values()),
            "outcomes": {name: dict(counts) for name, counts in outcomes.items()},
            "kinds_of_damage": {name: len(target.damages) for name, target in targets.items()},
            "max_seconds_allowed": MAX_SECONDS,
        },
    )


def test_every_good_file_is_read_as_it_was_written(
    targets: dict[str, Target], in_folder: Path
) -> None:
    for target in targets.values():
        assert target.is_as_it_was(copy_of(target.good, in_folder))


def test_falling_back_to_an_older_checkpoint_is_told(
    targets: dict[str, Target], in_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rng = random.Random(0)
    for kind, damage in (BYTE_DAMAGE | HEADER_DAMAGE).items():
        copy = copy_of(targets["run folder"].good, in_folder) / "checkpoints"
        caplog.clear()
        in_file("state.safetensors", damage)(copy / NEWEST, rng)
        found = checkpoint.newest_valid(copy)
        assert found is not None and found.iteration == 2, kind
        assert f"set aside damaged checkpoint {NEWEST}" in caplog.text
