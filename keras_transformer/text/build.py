"""Tokenizers learnt from training text, by the data configuration."""

from collections.abc import Callable, Iterable

from keras_transformer.config import DataConfig
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.errors import InputError
from keras_transformer.languages import is_chinese
from keras_transformer.text.character import CharacterTokenizer
from keras_transformer.text.normalization import Normalizer
from keras_transformer.text.sentencepiece import SentencePieceTokenizer
from keras_transformer.text.sentencepiece_training import train_sentencepiece
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.vocabulary import count_tokens, frequent_tokens
from keras_transformer.text.word import WordTokenizer

DEFAULT_SIZES = {"word": 50_000, "character": 50_000, "sentencepiece": 8_000}


def build_tokenizer(
    kind: str,
    lines: Callable[[], Iterable[str]],
    config: DataConfig,
    language: str,
    vocabulary_size: int | None = None,
    *,
    simplify: bool | None = None,
) -> Tokenizer:
    """The tokenizer of one side, or of both, from its training text.

    Args:
        kind: "word", "character" or "sentencepiece" (as in
            `DataConfig.source_kind`).
        lines: called once; gives the training text, line by line. For a
            vocabulary shared by both sides it gives the lines of both.
        config: how text becomes tokens.
        language: of the text, for instance "en"; "zh" text is simplified if
            `config.simplify_chinese` says so.
        vocabulary_size: at most, the reserved tokens included. None:
            `DEFAULT_SIZES`.
        simplify: overrides what follows from `language`.

    Raises:
        InputError: unknown kind, or no text.
    """
    if kind not in DEFAULT_SIZES:
        raise InputError(
            f"unknown tokenizer {kind!r}. Accepted: {', '.join(DEFAULT_SIZES)}"
        )
    if simplify is None:
        simplify = config.simplify_chinese and is_chinese(language)
    size = vocabulary_size or DEFAULT_SIZES[kind]
    normalization = {
        "nfc": config.nfc,
        "remove_control": config.remove_control,
        "simplify": simplify,
    }
    if kind == "sentencepiece":
        model = train_sentencepiece(
            lines(),
            size,
            model_type=config.sentencepiece_model,
            seed=config.seed,
            normalizer=Normalizer(**normalization),
        )
        return SentencePieceTokenizer(model, **normalization)
    if kind == "word":
        cls, option = WordTokenizer, {"lowercase": config.lowercase}
    else:
        cls = CharacterTokenizer
        option = {"keep_latin_runs": config.keep_latin_runs}
    # Splitting needs no vocabulary; the one that counts has an empty one.
    counting = cls(SPECIAL_TOKENS, **option, **normalization)
    counts = count_tokens(lines(), counting.split)
    if not counts:
        raise InputError(
            f"there is no text to take a {kind} vocabulary from. "
            "Accepted: at least one line that isn't blank"
        )
    return cls(frequent_tokens(counts, size), **option, **normalization)
