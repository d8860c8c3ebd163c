"""Verbs that train."""
