"""Parallel text in, a translation model for TensorFlow Serving out.

The public names are imported on first use, so that `import
keras_transformer` is instant, and the layers need no TensorFlow. Afterwards
`keras.models.load_model` knows the package's layers.
"""

from keras_transformer.lazy import (
    importer,
    make_callable,
    register_with_keras,
)
from keras_transformer.version import __version__

_PUBLIC = {
    "Config": "config",
    "DataConfig": "config",
    "DecodingConfig": "config",
    "ModelConfig": "config",
    "TrainingConfig": "config",
    "preset": "presets",
    "InputError": "errors",
    "CharacterTokenizer": "text.character",
    "SentencePieceTokenizer": "text.sentencepiece",
    "SpaceTokenizer": "text.space",
    "WordTokenizer": "text.word",
    "load_tokenizer": "text.tokenizer",
    "PreparedData": "data.prepared",
    "prepare": "data.prepare",
    "train": "api.training",
    "TrainedRun": "translation.trained_run",
    "load": "api.loading",
    "DecoderLayer": "layers",
    "EncoderLayer": "layers",
    "FeedForward": "layers",
    "MultiHeadAttention": "layers",
    "PositionalEmbedding": "layers",
    "causal_mask": "layers",
    "decoder_mask": "layers",
    "padding_mask": "layers",
    "IncrementalTransformer": "inference.incremental",
    "build_transformer": "models",
    "CrossEntropy": "training.metrics",
    "DenseAdam": "training.optimizer",
    "Perplexity": "training.metrics",
    "SmoothedCrossEntropy": "training.loss",
    "TokenAccuracy": "training.metrics",
    "WarmupSchedule": "training.schedule",
    "Run": "training.run",
    "fit": "training.fit",
    "SearchResult": "search.loop",
    "beam_search": "search.beam",
    "greedy_search": "search.greedy",
    "Translator": "translation.translator",
    "translate_lines": "translation.stream",
    "evaluate": "api.evaluation",
    "distill": "translation.distillation",
    "evaluate_run": "evaluation.run_evaluation",
    "Evaluation": "evaluation.run_evaluation",
    "compare": "evaluation.significance",
    "Comparison": "evaluation.significance",
    "Resampling": "evaluation.significance",
    "Scoring": "evaluation.run_evaluation",
    "export_run": "export.writer.saved_model",
    "export_keras": "export.writer.keras_file",
    "SavedTranslator": "export.saved_translator",
}

# There at once; `export` is a function, too.
_PACKAGES = (
    "data",
    "evaluation",
    "export",
    "inference",
    "layers",
    "models",
    "ops",
    "plots",
    "search",
    "serving",
    "text",
    "training",
    "translation",
)

# What files of Keras may name.
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
    "MultiHeadAttention": "layers.attention",
    "Perplexity": "training.metrics",
    "PositionalEmbedding": "layers.positional_embedding",
    "SmoothedCrossEntropy": "training.loss",
    "StepMean": "training.metrics",
    "TokenAccuracy": "training.metrics",
    "Transformer": "models.transformer",
    "WarmupSchedule": "training.schedule",
}

__all__ = ["__version__", "export", *_PUBLIC]


__getattr__ = importer(__name__, _PUBLIC, _PACKAGES)
make_callable(__name__, "export", "api.exporting")
register_with_keras(__name__, _REGISTERED)


def __dir__():
    return sorted({*__all__, *_PACKAGES})
