"""Text to ids and back: normalisation, tokenizers, vocabularies, vectors."""

from keras_transformer.text.character import CharacterTokenizer
from keras_transformer.text.sentencepiece import SentencePieceTokenizer
from keras_transformer.text.space import SpaceTokenizer
from keras_transformer.text.tokenizer import Tokenizer, frame, load_tokenizer
from keras_transformer.text.tokenizer_training import build_tokenizer
from keras_transformer.text.word import WordTokenizer

__all__ = [
    "CharacterTokenizer",
    "SentencePieceTokenizer",
    "SpaceTokenizer",
    "Tokenizer",
    "WordTokenizer",
    "build_tokenizer",
    "frame",
    "load_tokenizer",
]
