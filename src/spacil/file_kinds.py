"""What a file looks like by its first bytes, and what to do with it. Nothing is opened here."""

_KINDS = (
    (
        b"PK\x03\x04",
        "a zip archive (numpy .npz, or torch.save)",
        "name it .npz if numpy wrote it; torch.save files hold pickles and are never opened",
    ),
    (
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file",
        "name it .hdf5 if it has D4RL's layout",
    ),
    (
        b"\x93NUMPY",
        "a single numpy array",
        "put observations and actions into one file with np.savez",
    ),
    (b"\x1f\x8b", "a gzip archive", "unpack it first"),
    (b"PAR1", "a Parquet file", "convert it first: save its columns with save_demos"),
    (
        b"ARROW1",
        "an Arrow file",
        "name the folder instead if the imitation library saved it; else save its columns",
    ),
)
_PICKLE = (
    "a pickle, which can run code and is never opened",
    "load it where you trust it and save plain arrays: "
    "save_demos(Demonstrations.from_arrays(observations, actions), path)",
)


def foreign_kind(head: bytes) -> str | None:
    """ "it looks like ...: what to do", or None when the bytes are of no kind known here."""
    if head[:1] == b"\x80" and head[1:2] and head[1] <= 5:
        return f"it looks like {_PICKLE[0]}: {_PICKLE[1]}"
    for magic, kind, remedy in _KINDS:
        if head.startswith(magic):
            return f"it looks like {kind}: {remedy}"
    return None
