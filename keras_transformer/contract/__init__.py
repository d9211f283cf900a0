"""Contract with TensorFlow Serving: names, codes, messages."""
