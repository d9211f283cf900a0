"""What lies where in a version folder, and what the signatures are called."""

from typing import NamedTuple

SAVED_MODEL = "saved_model.pb"
VARIABLES = "variables/variables"
# The only name under which the server looks for requests to warm up with.
WARMUP = "assets.extra/tf_serving_warmup_requests"
DESCRIPTION = "assets.extra/keras_transformer.json"
REFERENCE = "assets.extra/reference.json"

TAG = "serve"
TEXT = "text"
TRANSLATION = "translation"
TRANSLATIONS = "translations"
SCORE = "score"
SCORES = "scores"
LOG_PROBABILITY = "log_probability"
TOKENS = "tokens"


class Signature(NamedTuple):
    """A signature's tensors.

    Attributes:
        inputs: names; each is string `(B,)`.
        outputs: dtype name and rank by name; the first axis is B.
    """

    inputs: tuple[str, ...]
    outputs: dict[str, tuple[str, int]]


_BEST = Signature((TEXT,), {TRANSLATION: ("string", 1), SCORE: ("float32", 1)})
# The server's own name for the signature of a request that names none.
BEAM = "serving_default"
GREEDY = "greedy"
NBEST = "nbest"
SCORING = "score"
SIGNATURES = {
    BEAM: _BEST,
    GREEDY: _BEST,
    NBEST: Signature(
        (TEXT,), {TRANSLATIONS: ("string", 2), SCORES: ("float32", 2)}
    ),
    SCORING: Signature(
        (TEXT, TRANSLATION),
        {
            LOG_PROBABILITY: ("float32", 1),
            SCORE: ("float32", 1),
            TOKENS: ("int32", 1),
        },
    ),
}
