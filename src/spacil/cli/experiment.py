"""`spacil experiment NAME`: experiments of installed packages, by entry point."""

from importlib.metadata import entry_points

from spacil.errors import ConfigError

GROUP = "spacil.experiments"
WHERE = (
    "The paper's tables and figures are scripts of the repository: "
    "python experiments/returns.py --help, and docs/experiments.md for the rest."
)


def run(arguments: list[str]) -> int:
    """Run the function behind an entry point with the words that follow its name."""
    known = {entry.name: entry for entry in entry_points(group=GROUP)}
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: spacil experiment NAME [options]\n")
        print("\n".join(f"  {name:<15} {entry.value}" for name, entry in known.items()))
        print(f"Experiments are entry points of the group {GROUP!r}. {WHERE}")
        return 0
    name, *rest = arguments
    if name not in known:
        listed = ", ".join(known) or "none"
        raise ConfigError(f"experiment {name!r}: expected an installed one ({listed}). {WHERE}")
    return int(known[name].load()(rest) or 0)
