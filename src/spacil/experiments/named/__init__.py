"""Experiments with a name: a sweep, its analysis over run folders, and tables with a figure.

One file per experiment, a room for the front; `table.py` lists them. An experiment says which
settings run on which tasks with which seeds (`plan.py`), what is measured at finished runs besides
their evaluations, and how rows become tables (`rows.py`, `outcome.py`). Running and writing is for
the command line.
"""
