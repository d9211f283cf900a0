"""JAX's kernels, which are faster than what XLA makes of the references.

Arguments and results are those of the references in `keras_transformer.ops`.
"""
