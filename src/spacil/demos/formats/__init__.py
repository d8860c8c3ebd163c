"""Demonstration formats of others: one file each, a function that reads and one that writes.

A reader runs in a child process with limits (`spacil.foreign`), so these modules import no torch.
It returns flat arrays under the names of `Demonstrations.tensors`, and notes: `ignored` names what
was not read, `task`, `env_fingerprint` and `provenance` what the file says about itself.
"""
