"""`spacil demos {collect,import,export,check,show}`: demonstrations from and to any format."""

import importlib

from spacil.errors import ConfigError

VERBS = {
    "collect": ("collect", "record a policy's mean actions as demonstrations"),
    "import": ("files", "convert demonstrations of any format into a native file"),
    "export": ("files", "write demonstrations in another library's format"),
    "check": ("check", "report everything that is wrong with a file; exits 65 if it is unusable"),
    "show": ("show", "draw returns, lengths and actions"),
}

USAGE = "\n".join(
    [
        f"usage: spacil demos {{{','.join(VERBS)}}} ...",
        "",
        *(f"  {verb:<8} {summary}" for verb, (_, summary) in VERBS.items()),
    ]
)


def run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    verb, *rest = arguments
    if verb not in VERBS:
        *others, last = VERBS
        raise ConfigError(f"demos {verb!r}: expected {', '.join(others)} or {last}")
    module = importlib.import_module(f"spacil.cli.demos.{VERBS[verb][0]}")
    code: int = getattr(module, f"run_{verb}")(rest)
    return code
