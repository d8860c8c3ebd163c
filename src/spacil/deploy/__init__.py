"""Policies onto robots: one folder with ONNX, a C header, their facts and a self-test."""
