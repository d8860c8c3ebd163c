"""Many runs with one plan: what is to run, where each run is, and who computes it."""
