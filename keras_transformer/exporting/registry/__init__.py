"""Registry: a model's versions, labels and releases."""
