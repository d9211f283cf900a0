"""Parallel text in, a translation model for TensorFlow Serving out.

The public names are imported on first use, so that `import
keras_transformer` is instant, and the layers need no TensorFlow. Afterwards
`keras.models.load_model` knows the package's layers.
"""

from typing import TYPE_CHECKING

from keras_transformer.lazy import (
    hush_tensorflow,
    importer,
    register_with_keras,
)
from keras_transformer.version import __version__

if TYPE_CHECKING:
    # What checkers and editors read in place of the tables below.
    from keras_transformer import data as data
    from keras_transformer import evaluation as evaluation
    from keras_transformer import inference as inference
    from keras_transformer import layers as layers
    from keras_transformer import models as models
    from keras_transformer import ops as ops
    from keras_transformer import plots as plots
    from keras_transformer import search as search
    from keras_transformer import serving as serving
    from keras_transformer import text as text
    from keras_transformer import training as training
    from keras_transformer import translation as translation
    from keras_transformer.api.documents import translate_file
    from keras_transformer.api.evaluation import evaluate
    from keras_transformer.api.exporting import export
    from keras_transformer.api.loading import load
    from keras_transformer.api.preparing import prepare
    from keras_transformer.api.training import train
    from keras_transformer.config import (
        Config,
        DataConfig,
        DecodingConfig,
        ModelConfig,
        TrainingConfig,
    )
    from keras_transformer.config.presets import preset
    from keras_transformer.data.prepared import PreparedData
    from keras_transformer.errors import InputError
    from keras_transformer.evaluation.run_evaluation import Evaluation
    from keras_transformer.evaluation.scoring import Scoring
    from keras_transformer.evaluation.significance import (
        Comparison,
        Resampling,
        compare,
    )
    from keras_transformer.exporting.saved_translator import SavedTranslator
    from keras_transformer.inference.incremental import IncrementalTransformer
    from keras_transformer.layers import (
        DecoderLayer,
        EncoderLayer,
        FeedForward,
        MaskedPooling,
        MultiHeadAttention,
        PositionalEmbedding,
        causal_mask,
        decoder_mask,
        padding_mask,
    )
    from keras_transformer.models import (
        build_encoder,
        build_language_model,
        build_transformer,
    )
    from keras_transformer.search.beam import beam_search
    from keras_transformer.search.greedy import greedy_search
    from keras_transformer.search.loop import SearchResult
    from keras_transformer.text.character import CharacterTokenizer
    from keras_transformer.text.sentencepiece import SentencePieceTokenizer
    from keras_transformer.text.space import SpaceTokenizer
    from keras_transformer.text.tokenizer import frame, load_tokenizer
    from keras_transformer.text.word import WordTokenizer
    from keras_transformer.training.loss import SmoothedCrossEntropy
    from keras_transformer.training.metrics import (
        CrossEntropy,
        Perplexity,
        TokenAccuracy,
    )
    from keras_transformer.training.optimizer import DenseAdam
    from keras_transformer.training.run import Run
    from keras_transformer.training.schedule import WarmupSchedule
    from keras_transformer.translation.distillation import distill
    from keras_transformer.translation.generator import TextGenerator
    from keras_transformer.translation.stream import translate_lines
    from keras_transformer.translation.trained_run import TrainedRun
    from keras_transformer.translation.translator import Translator

_PUBLIC = {
    "Config": "config",
    "DataConfig": "config",
    "DecodingConfig": "config",
    "ModelConfig": "config",
    "TrainingConfig": "config",
    "preset": "config.presets",
    "InputError": "errors",
    "CharacterTokenizer": "text.character",
    "SentencePieceTokenizer": "text.sentencepiece",
    "SpaceTokenizer": "text.space",
    "WordTokenizer": "text.word",
    "frame": "text.tokenizer",
    "load_tokenizer": "text.tokenizer",
    "PreparedData": "data.prepared",
    "prepare": "api.preparing",
    "train": "api.training",
    "TrainedRun": "translation.trained_run",
    "load": "api.loading",
    "translate_file": "api.documents",
    "DecoderLayer": "layers",
    "EncoderLayer": "layers",
    "FeedForward": "layers",
    "MaskedPooling": "layers",
    "MultiHeadAttention": "layers",
    "PositionalEmbedding": "layers",
    "causal_mask": "layers",
    "decoder_mask": "layers",
    "padding_mask": "layers",
    "IncrementalTransformer": "inference.incremental",
    "build_encoder": "models",
    "build_language_model": "models",
    "build_transformer": "models",
    "CrossEntropy": "training.metrics",
    "DenseAdam": "training.optimizer",
    "Perplexity": "training.metrics",
    "SmoothedCrossEntropy": "training.loss",
    "TokenAccuracy": "training.metrics",
    "WarmupSchedule": "training.schedule",
    "Run": "training.run",
    "SearchResult": "search.loop",
    "beam_search": "search.beam",
    "greedy_search": "search.greedy",
    "TextGenerator": "translation.generator",
    "Translator": "translation.translator",
    "translate_lines": "translation.stream",
    "evaluate": "api.evaluation",
    "export": "api.exporting",
    "distill": "translation.distillation",
    "Evaluation": "evaluation.run_evaluation",
    "compare": "evaluation.significance",
    "Comparison": "evaluation.significance",
    "Resampling": "evaluation.significance",
    "Scoring": "evaluation.scoring",
    "SavedTranslator": "exporting.saved_translator",
}

# Imported on first use as well.
_PACKAGES = (
    "data",
    "evaluation",
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

__all__ = [
    "CharacterTokenizer",
    "Comparison",
    "Config",
    "CrossEntropy",
    "DataConfig",
    "DecoderLayer",
    "DecodingConfig",
    "DenseAdam",
    "EncoderLayer",
    "Evaluation",
    "FeedForward",
    "IncrementalTransformer",
    "InputError",
    "MaskedPooling",
    "ModelConfig",
    "MultiHeadAttention",
    "Perplexity",
    "PositionalEmbedding",
    "PreparedData",
    "Resampling",
    "Run",
    "SavedTranslator",
    "Scoring",
    "SearchResult",
    "SentencePieceTokenizer",
    "SmoothedCrossEntropy",
    "SpaceTokenizer",
    "TextGenerator",
    "TokenAccuracy",
    "TrainedRun",
    "TrainingConfig",
    "Translator",
    "WarmupSchedule",
    "WordTokenizer",
    "__version__",
    "beam_search",
    "build_encoder",
    "build_language_model",
    "build_transformer",
    "causal_mask",
    "compare",
    "decoder_mask",
    "distill",
    "evaluate",
    "export",
    "frame",
    "greedy_search",
    "load",
    "load_tokenizer",
    "padding_mask",
    "prepare",
    "preset",
    "train",
    "translate_file",
    "translate_lines",
]


if not TYPE_CHECKING:  # Checkers would believe any name to be there.
    __getattr__ = importer(__name__, _PUBLIC, _PACKAGES)
register_with_keras(__name__, _REGISTERED)
hush_tensorflow()


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES})
