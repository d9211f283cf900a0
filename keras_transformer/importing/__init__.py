"""Import of models that other programs trained, as runs of this package."""

from keras_transformer.importing.run import import_run

__all__ = ["import_run"]
