"""`python -m spacil` is the `spacil` command."""

from spacil.cli.main import main

if __name__ == "__main__":
    main()
