"""One optimiser step per file."""
