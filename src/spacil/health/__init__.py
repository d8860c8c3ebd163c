"""Is this machine fit to train on? Facts about it, and a short self-test."""
