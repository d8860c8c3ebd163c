"""Verbs about this machine, the tasks and the paper."""
