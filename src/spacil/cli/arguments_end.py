"""How parsing the command line ends a command: after its help, or because of a mistake."""


class ArgumentsEnd(SystemExit):
    """Told apart from a `sys.exit` in code of others, which is a fault."""
