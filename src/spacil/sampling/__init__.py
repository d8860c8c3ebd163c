"""A policy acts in vector envs: batches to learn from, whole episodes to measure."""
