"""Wishes instead of weights: what a run is asked for, and the weights it finds on the way there.

The control laws (`target`, `weight_rule`, `smoothest`) are records of plain numbers with pure
moves; `wishes` asks them at the right moments and is all that the loop knows of them.
"""
