"""Policies in formats of others: the one room that knows onnx and its runtime."""
