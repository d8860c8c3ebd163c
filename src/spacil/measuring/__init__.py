"""How good and how smooth a policy is. Reads policies, trains nothing."""
