"""Layout of a version folder, the names of its signatures and tensors.

Also what every server of it shares: the image, and the path of its metrics.
"""

import pathlib
from typing import NamedTuple

SAVED_MODEL = "saved_model.pb"
# Bytes of a message of protobuf's, which that file is.
LARGEST_GRAPH = 2**31 - 1
VARIABLES = "variables/variables"
# The only name under which the server looks for requests to warm up with.
WARMUP = "assets.extra/tf_serving_warmup_requests"
DESCRIPTION = "assets.extra/keras_transformer.json"
REFERENCE = "assets.extra/reference.json"
# Its bytes: alignments of many long texts take tens of megabytes.
LARGEST_REFERENCE = 1 << 30

# The image that generated files name. Exports are made and checked with
# TensorFlow 2.21, and were tried in no image.
IMAGE = "tensorflow/serving:2.20.0"
METRICS_PATH = "/monitoring/prometheus/metrics"
# What the REST API is, for programs: the file, and where servers have it.
OPENAPI = pathlib.Path(__file__).with_name("openapi.yaml")
OPENAPI_PATH = "/openapi.json"

TAG = "serve"
TEXT = "text"
TRANSLATION = "translation"
TRANSLATIONS = "translations"
SCORE = "score"
SCORES = "scores"
LOG_PROBABILITY = "log_probability"
TOKENS = "tokens"
TRUNCATED = "truncated"
SENTENCES = "sentences"
TRANSLATION_TRUNCATED = "translation_truncated"
IDS = "ids"
LENGTH = "length"
SOURCE_TOKENS = "source_tokens"
TARGET_TOKENS = "target_tokens"
ALIGNMENT = "alignment"


class Signature(NamedTuple):
    """A signature's tensors.

    Attributes:
        inputs: names; each is string `(B,)`.
        outputs: dtype name and rank by name; the first axis is B.
        varying: whether the other axes are as long as the longest text of
            the batch needs. A server that splits large batches can't put the
            parts of such outputs together again.
    """

    inputs: tuple[str, ...]
    outputs: dict[str, tuple[str, int]]
    varying: bool = False


_BEST = Signature(
    (TEXT,),
    {
        TRANSLATION: ("string", 1),
        SCORE: ("float32", 1),
        TRUNCATED: ("bool", 1),
        SENTENCES: ("int32", 1),
    },
)
# The server's own name for the signature of a request that names none.
BEAM = "serving_default"
GREEDY = "greedy"
NBEST = "nbest"
TRANSLATING = BEAM, GREEDY, NBEST
SCORING = "score"
TOKENIZE = "tokenize"
ALIGN = "align"
SIGNATURES = {
    BEAM: _BEST,
    GREEDY: _BEST,
    NBEST: Signature(
        (TEXT,),
        {
            TRANSLATIONS: ("string", 2),
            SCORES: ("float32", 2),
            TRUNCATED: ("bool", 1),
            SENTENCES: ("int32", 1),
        },
    ),
    SCORING: Signature(
        (TEXT, TRANSLATION),
        {
            LOG_PROBABILITY: ("float32", 1),
            SCORE: ("float32", 1),
            TOKENS: ("int32", 1),
            TRUNCATED: ("bool", 1),
            TRANSLATION_TRUNCATED: ("bool", 1),
        },
    ),
    TOKENIZE: Signature(
        (TEXT,), {IDS: ("int32", 2), LENGTH: ("int32", 1)}, varying=True
    ),
    ALIGN: Signature(
        (TEXT,),
        {
            SOURCE_TOKENS: ("string", 2),
            TARGET_TOKENS: ("string", 2),
            ALIGNMENT: ("float32", 3),
            TRUNCATED: ("bool", 1),
        },
        varying=True,
    ),
}


# What an export's description says of itself.
FORMAT, FORMAT_VERSION = "keras_transformer.saved_model", 1
