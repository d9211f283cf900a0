"""Layout of a version folder, with the names of its signatures and tensors.

Also has constants of all servers: the image and the paths of the REST API.
"""

import pathlib
from typing import NamedTuple

SAVED_MODEL = "saved_model.pb"
# Maximum bytes of that file: of a protobuf message.
LARGEST_GRAPH = 2**31 - 1
VARIABLES = "variables/variables"
# The only path where the server looks for warm-up requests.
WARMUP = "assets.extra/tf_serving_warmup_requests"
DESCRIPTION = "assets.extra/keras_transformer.json"
REFERENCE = "assets.extra/reference.json"
# Maximum bytes of that file: alignments of many long texts take tens of
# megabytes.
LARGEST_REFERENCE = 1 << 30

# The server's image in generated files. Exports are made and checked with
# TensorFlow 2.21, but weren't tested in an image.
IMAGE = "tensorflow/serving:2.20.0"
METRICS_PATH = "/monitoring/prometheus/metrics"
# OpenAPI description of the REST API: the file, and its path on servers.
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
        varying: bool, whether the length of the other axes depends on the
            longest text of the batch. A server that splits large batches
            can't concatenate the parts of such outputs.
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
# The server's name of the default signature.
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


# Format of an export's description.
FORMAT, FORMAT_VERSION = "keras_transformer.saved_model", 1
