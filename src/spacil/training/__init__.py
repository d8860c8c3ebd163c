"""The loop and what surrounds it: evaluation, checkpoints, run folders, the Python face."""
