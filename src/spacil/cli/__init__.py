"""The `spacil` command: one small file per verb."""
