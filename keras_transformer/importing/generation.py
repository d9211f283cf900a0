"""Conversion of transformers' search settings to the section `decoding`.

Reference: transformers' `generation/configuration_utils.py` and
`generation/logits_process.py`.
"""

from typing import Any

from keras_transformer.importing.foreign import without_counterpart
from keras_transformer.importing.vocabulary import LANGUAGE_CODE

_SAME = ("no_repeat_ngram_size", "repetition_penalty", "early_stopping")
# Settings that searches here don't have, with the values that turn them off;
# None turns off any.
_NEUTRAL: dict[str, Any] = {
    "begin_suppress_tokens": [],
    "constraints": [],
    "diversity_penalty": 0.0,
    "do_sample": False,
    "encoder_no_repeat_ngram_size": 0,
    "encoder_repetition_penalty": 1.0,
    "epsilon_cutoff": 0.0,
    "eta_cutoff": 0.0,
    "exponential_decay_length_penalty": [],
    "force_words_ids": [],
    "forced_bos_token_id": None,
    "guidance_scale": 1.0,
    "num_beam_groups": 1,
    "penalty_alpha": 0.0,
    "renormalize_logits": False,  # See `search_settings`.
    "sequence_bias": {},
}
_TAKEN = {
    *("bad_words_ids", "length_penalty", "max_length", "max_new_tokens"),
    *("min_length", "min_new_tokens", "num_beams", "suppress_tokens"),
}
# Keys of the section that change probabilities in the search.
_CHANGING = {
    *("banned_tokens", "min_length"),
    *("no_repeat_ngram_size", "repetition_penalty"),
}
# Settings that don't change translations here: those of sampling, which is off,
# of the output, and of the last token at the length limit.
_WITHOUT_EFFECT = {
    *("forced_eos_token_id", "num_return_sequences"),
    *("output_scores", "remove_invalid_values", "return_dict_in_generate"),
    *("temperature", "top_k", "top_p", "typical_p"),
}
SETTINGS = frozenset({*_SAME, *_NEUTRAL, *_TAKEN, *_WITHOUT_EFFECT})


def search_settings(
    given: dict[str, Any], vocabulary: dict[str, int]
) -> tuple[dict[str, Any], tuple[str, ...], bool]:
    """Converts settings of transformers' `generate` to the section `decoding`.

    Args:
        given: values of `generation_config.json`, and of `config.json`, where
            earlier versions of transformers stored them.
        vocabulary: target ids by token.

    Returns:
        the section, whose values aren't checked yet; `NAME=VALUE` of each
        setting without a counterpart that would change translations; and True
        if `<pad>` has no probability: with `renormalize_logits`, and nothing
        else banned, its probability is distributed among the other tokens.
    """
    given = {key: value for key, value in given.items() if value is not None}
    penalty = given.get("length_penalty", 1.0)
    decoding = {
        "beam_size": given.get("num_beams") or 4,
        "length_penalty": penalty,
        "length_normalization": "average",
    }
    decoding |= {key: given[key] for key in _SAME if key in given}
    # "never" is the behaviour of searches here that don't stop early.
    if given.get("early_stopping") == "never":
        decoding["early_stopping"] = False
    decoding |= _lengths(given)
    banned, left = _banned(given, vocabulary)
    decoding |= banned
    # Other end tokens than END have no counterpart.
    ends = given.get("eos_token_id", [])
    ends = ends if isinstance(ends, list) else [ends]
    if any(end != vocabulary["</s>"] for end in ends):
        left.append("eos_token_id")
    no_padding = (
        given.get("renormalize_logits") is True
        and given.get("bad_words_ids") == [[vocabulary.get("<pad>")]]
        and _CHANGING.isdisjoint(decoding)
    )
    neutral = _NEUTRAL | dict.fromkeys(left)
    if no_padding:
        del neutral["renormalize_logits"]
    return decoding, without_counterpart(given, neutral), no_padding


def _lengths(given):
    """Converts length limits; transformers' count the first decoder input."""
    lengths = {}
    for ours in ("min_length", "max_length"):
        total, new = given.get(ours), given.get(f"{ours[:3]}_new_tokens")
        if new is not None:
            lengths[ours] = new
        elif type(total) is int:
            lengths[ours] = max(total - 1, 0)
        elif total is not None:
            lengths[ours] = total  # Invalid; refused with the section.
    return lengths


def _banned(given, vocabulary):
    """Returns banned tokens, and keys whose values can't all be converted."""
    tokens = {number: token for token, number in vocabulary.items()}
    # These are never generated here anyway.
    never = (vocabulary.get("<pad>"), given.get("decoder_start_token_id"))
    section: dict[str, Any] = {}
    left = []
    for key in ("bad_words_ids", "suppress_tokens"):
        words = given.get(key, [])
        for word in words if isinstance(words, list) else [words]:
            single = isinstance(word, list) and len(word) == 1
            number = word[0] if single else word
            token = tokens.get(number) if type(number) is int else None
            if number in never:
                continue
            if token is None or LANGUAGE_CODE.fullmatch(token):
                left.append(key)
            else:
                section.setdefault("banned_tokens", []).append(token)
    return section, [*dict.fromkeys(left)]
