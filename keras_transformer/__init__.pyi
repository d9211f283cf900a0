"""Public names, which `lazy.public_names` imports on first use."""

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
from keras_transformer.api.documents import translate_file as translate_file
from keras_transformer.api.evaluation import evaluate as evaluate
from keras_transformer.api.exporting import export as export
from keras_transformer.api.loading import load as load
from keras_transformer.api.training import train as train
from keras_transformer.config import (
    Config as Config,
    DataConfig as DataConfig,
    DecodingConfig as DecodingConfig,
    ModelConfig as ModelConfig,
    TrainingConfig as TrainingConfig,
)
from keras_transformer.config.presets import preset as preset
from keras_transformer.data.prepare import prepare as prepare
from keras_transformer.data.prepared import PreparedData as PreparedData
from keras_transformer.errors import InputError as InputError
from keras_transformer.evaluation.run_evaluation import Evaluation as Evaluation
from keras_transformer.evaluation.scoring import Scoring as Scoring
from keras_transformer.evaluation.significance import (
    Comparison as Comparison,
    Resampling as Resampling,
    compare as compare,
)
from keras_transformer.exporting.saved_translator import (
    SavedTranslator as SavedTranslator,
)
from keras_transformer.inference.incremental import (
    IncrementalTransformer as IncrementalTransformer,
)
from keras_transformer.layers import (
    DecoderLayer as DecoderLayer,
    EncoderLayer as EncoderLayer,
    FeedForward as FeedForward,
    MaskedPooling as MaskedPooling,
    MultiHeadAttention as MultiHeadAttention,
    PositionalEmbedding as PositionalEmbedding,
    causal_mask as causal_mask,
    decoder_mask as decoder_mask,
    padding_mask as padding_mask,
)
from keras_transformer.models import (
    build_encoder as build_encoder,
    build_language_model as build_language_model,
    build_transformer as build_transformer,
)
from keras_transformer.search.beam import beam_search as beam_search
from keras_transformer.search.greedy import greedy_search as greedy_search
from keras_transformer.search.loop import SearchResult as SearchResult
from keras_transformer.text.character import (
    CharacterTokenizer as CharacterTokenizer,
)
from keras_transformer.text.sentencepiece import (
    SentencePieceTokenizer as SentencePieceTokenizer,
)
from keras_transformer.text.space import SpaceTokenizer as SpaceTokenizer
from keras_transformer.text.tokenizer import (
    frame as frame,
    load_tokenizer as load_tokenizer,
)
from keras_transformer.text.word import WordTokenizer as WordTokenizer
from keras_transformer.training.loss import (
    SmoothedCrossEntropy as SmoothedCrossEntropy,
)
from keras_transformer.training.metrics import (
    CrossEntropy as CrossEntropy,
    Perplexity as Perplexity,
    TokenAccuracy as TokenAccuracy,
)
from keras_transformer.training.optimizer import DenseAdam as DenseAdam
from keras_transformer.training.run import Run as Run
from keras_transformer.training.schedule import WarmupSchedule as WarmupSchedule
from keras_transformer.translation.distillation import distill as distill
from keras_transformer.translation.generator import (
    TextGenerator as TextGenerator,
)
from keras_transformer.translation.trained_run import TrainedRun as TrainedRun
from keras_transformer.translation.translator import Translator as Translator
from keras_transformer.version import __version__ as __version__
