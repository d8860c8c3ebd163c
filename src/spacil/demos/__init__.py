"""Demonstrations: record, check, edit, save, load, and the formats of other libraries."""
