"""A server of SavedModels with TensorFlow Serving's contract."""
