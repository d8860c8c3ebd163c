"""Policies in files and in other libraries' formats; the home of onnx."""
