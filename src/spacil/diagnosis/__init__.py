"""Why does a robot shake? Checks on a policy, each with its evidence and its remedy."""
