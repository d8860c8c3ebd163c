"""Experiments: the paper's tables and claims, measured."""
