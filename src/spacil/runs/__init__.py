"""Run folders: who holds one, checkpoints, metrics, interruption, provenance."""
