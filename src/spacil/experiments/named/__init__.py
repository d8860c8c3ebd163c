"""Experiments with a name: a sweep, its analysis over run folders, and tables with a figure.

`paper` has a file per table or figure of the paper, `front` what goes beyond it, `recipe.py` our
default on scarce data; `table.py` lists them all. An experiment says which settings run on which
tasks with which seeds (`plan.py`), what is measured at finished runs besides their evaluations
(`experiment.py`), and how rows become tables (`rows.py`, `outcome.py`). Running and writing is for
the command line.
"""
