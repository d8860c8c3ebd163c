"""Run folders in, pictures out. Reads files, never objects."""
