"""TensorFlow's kernels, most of them for their gradients.

Arguments and results are those of `keras_transformer.ops.reference`.
"""
