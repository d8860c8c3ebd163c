"""`spacil demos ...`."""
