"""Parallel text in, a translation model for TensorFlow Serving out.

The public names are imported on first use, so that `import
keras_transformer` is instant, and the layers need no TensorFlow. Afterwards
`keras.models.load_model` knows the package's layers.
"""

from keras_transformer.lazy import (
    hush_tensorflow,
    public_names,
    register_with_keras,
)

# Classes that Keras files may name, and their modules.
_REGISTERED = {
    "ActivationDropout": "layers.dropout",
    "CrossEntropy": "training.metrics",
    "DecoderLayer": "layers.transformer_layers",
    "Dense": "layers.dense",
    "DenseAdam": "training.optimizer",
    "Dropout": "layers.dropout",
    "EncoderLayer": "layers.transformer_layers",
    "FeedForward": "layers.feed_forward",
    "LayerNormalization": "layers.layer_normalization",
    "MaskedPooling": "layers.pooling",
    "MultiHeadAttention": "layers.attention",
    "Perplexity": "training.metrics",
    "PositionalEmbedding": "layers.positional_embedding",
    "Scores": "models.stacks",
    "SmoothedCrossEntropy": "training.loss",
    "StepMean": "training.metrics",
    "TokenAccuracy": "training.metrics",
    "Transformer": "models.transformer",
    "WarmupSchedule": "training.schedule",
}

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
register_with_keras(__name__, _REGISTERED)
hush_tensorflow()
