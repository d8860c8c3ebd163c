"""Behaviour cloning, alone or as the start of an adversarial run."""
