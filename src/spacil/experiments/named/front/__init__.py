"""The front of return against smoothness: ladders of weights, filters, and what they come to.

`experiment.py` says what is run, `ladder.py` and `filters.py` what is measured at it, `methods.py`
holds the points of each method, `numbers.py` the mathematics of a front, `page.py` what is shown.
"""
