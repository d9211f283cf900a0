"""TensorFlow's kernels, most of them for their gradients.

Arguments and results are those of the references in `keras_transformer.ops`.
"""
