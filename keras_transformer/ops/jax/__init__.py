"""JAX's kernels, for what XLA doesn't make of the references by itself.

Arguments and results are those of the references in `keras_transformer.ops`.
"""
