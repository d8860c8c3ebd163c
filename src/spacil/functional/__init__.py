"""Mathematics: tensors in, tensors out. Imports torch and nothing of ours."""
