"""What could be wrong with demonstrations, and whether they fit an env."""
