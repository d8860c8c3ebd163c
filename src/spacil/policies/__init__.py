"""Policies from files, checkpoints and third-party libraries; the only room that uses onnx."""
