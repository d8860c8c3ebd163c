"""Policies at work, as moving pictures: the env above, the actions running beneath."""
