"""How updates are computed fast: hand-written passes, Adam on one vector, recorded GPU work."""
