"""One iteration: what it is to do (`plan`), what was played (`judge`), and what follows from it."""
