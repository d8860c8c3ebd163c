"""Every setting of a run, and the table of algorithms. Imports neither torch nor numpy."""
