"""Verbs about the machine, the tasks and the paper."""
