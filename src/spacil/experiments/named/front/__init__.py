"""The front of return against smoothness: ladders of weights, filters, and what they come to.

`experiment.py` says what is run, `ladder.py` how weights climb, `filters.py` what filters do to
GAIL; `runs.py` reads what runs came to, `methods.py` makes the points of each method from them,
`numbers.py` holds the mathematics of a front, `page.py` what is shown.
"""
