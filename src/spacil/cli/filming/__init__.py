"""Verbs that show policies at work."""
