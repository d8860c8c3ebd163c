"""The smoothness penalties as a run's settings name them; the maths is in `smoothness`."""
