"""Simulation: the only room that imports mujoco or gymnasium."""
