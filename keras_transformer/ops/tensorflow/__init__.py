"""TensorFlow's kernels, most of them for cheaper gradients.

Arguments and results are those of the references in `keras_transformer.ops`.
"""
