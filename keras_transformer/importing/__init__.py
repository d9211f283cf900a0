"""Models that other programs trained, as runs of this package."""

from keras_transformer.importing.hugging_face import read_hugging_face
from keras_transformer.importing.opennmt import read_opennmt
from keras_transformer.importing.original import read_original
from keras_transformer.importing.run import import_run

__all__ = [
    "import_run",
    "read_hugging_face",
    "read_opennmt",
    "read_original",
]
