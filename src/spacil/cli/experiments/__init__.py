"""Verbs that run many runs, compare them and report on them."""
