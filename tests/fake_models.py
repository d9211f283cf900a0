"""Fake models: small, exact, and easy to know by heart.

For searches, step models: their logits come from a table or a few weights.
For servers, SavedModels of a few operations, written in a second;
`python -m tests.fake_models FOLDER` writes them for the real server.
"""

import pathlib
import sys
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef

from keras_transformer.constants import END_ID, PAD_ID, SPECIAL_TOKENS, START_ID

STRINGS = tf.TensorSpec([None], tf.string, name="text")
# Characters above which `ToyTranslator` says that a text is truncated.
MAX_CHARACTERS = 60
# What is left of a token's attention after the token it copies.
REST = 0.2


class Cache(NamedTuple):
    beams: Any
    source: Any


class Step(NamedTuple):
    logits: Any
    cache: Any


class FakeModel:
    """How a cache of nested tensors follows its sentences and beams."""

    max_length = 32

    def reorder(self, cache, parents):
        return cache._replace(beams=_gather(cache.beams, parents, 1))

    def take(self, cache, sentences):
        return _gather(cache, sentences, 0)

    def grow(self, cache, steps):
        return cache


class RecurrentModel(FakeModel):
    """Random logits that depend on the whole prefix and on the source.

    Its past is a hidden state, so a beam that isn't reordered together with
    its tokens gives other logits.
    """

    def __init__(self, seed, vocabulary_size=7, width=5, sharpness=3.0):
        random = np.random.default_rng(seed)

        def weights(*shape):
            return tf.constant(random.normal(size=shape), tf.float32)

        self.vocabulary_size = vocabulary_size
        self.source_embedding = weights(20, width)
        self.embedding = weights(vocabulary_size, width)
        self.recurrent = weights(width, width)
        self.output = sharpness * weights(width, vocabulary_size)

    def start(self, source_ids, beam_size, max_steps):
        real = tf.cast(source_ids != PAD_ID, tf.float32)[..., tf.newaxis]
        vectors = tf.gather(self.source_embedding, source_ids) * real
        summary = tf.tanh(tf.reduce_sum(vectors, axis=1))
        rows = tf.shape(source_ids)[0]
        width = self.embedding.shape[1]
        return Cache(
            beams={"hidden": tf.zeros([rows, beam_size, width])}, source=summary
        )

    def step(self, ids, cache, index):
        summary = cache.source
        tf.debugging.assert_equal(tf.shape(summary)[0], tf.shape(ids)[0])
        hidden = tf.tanh(
            cache.beams["hidden"] @ self.recurrent
            + tf.gather(self.embedding, ids)
            + 0.1 * tf.cast(index, tf.float32)
        )
        logits = (hidden + summary[:, tf.newaxis]) @ self.output
        return Step(logits, cache._replace(beams={"hidden": hidden}))


class ScriptedModel(FakeModel):
    """Logits read from a table: `table[index][last token]` is a row of V."""

    def __init__(self, table):
        self.table = tf.convert_to_tensor(table, tf.float32)

    def start(self, source_ids, beam_size, max_steps):
        rows = tf.shape(source_ids)[0]
        return Cache(beams=(tf.zeros([rows, beam_size]),), source=())

    def step(self, ids, cache, index):
        last = tf.shape(self.table)[0] - 1
        row = self.table[tf.minimum(index, last)]
        return Step(tf.gather(row, ids), cache)


class Uncached(FakeModel):
    """The functions of a search over a model that knows only full passes.

    Args:
        logits: `(source_ids (N, S), target_ids (N, T)) -> (N, T, V)`.
    """

    def __init__(self, logits):
        self.logits = logits

    def start(self, source_ids, beam_size, max_steps):
        rows = tf.shape(source_ids)[0]
        ids = tf.fill([rows, beam_size, max_steps], PAD_ID)
        return Cache(beams={"ids": ids}, source=source_ids)

    def grow(self, cache, steps):
        ids = tf.pad(cache.beams["ids"], [[0, 0], [0, 0], [0, steps]])
        return cache._replace(beams={"ids": ids})

    def step(self, ids, cache, index):
        prefix = cache.beams["ids"]
        here = tf.range(tf.shape(prefix)[2]) == index
        prefix = tf.where(here, ids[..., tf.newaxis], prefix)
        rows, beam_size = tf.shape(ids)[0], ids.shape[1]
        logits = self.logits(
            tf.repeat(cache.source, beam_size, axis=0),
            tf.reshape(prefix, [rows * beam_size, -1]),
        )[:, index]
        return Step(
            tf.reshape(logits, [rows, beam_size, -1]),
            cache._replace(beams={"ids": prefix}),
        )


class Watched:
    """A model, and the steps and batch sizes that a search asked it for."""

    def __init__(self, model):
        self._model = model
        self.steps = []
        self.batches = []

    def __getattr__(self, name):
        return getattr(self._model, name)

    def step(self, ids, cache, index):
        self.steps.append(int(index))
        self.batches.append(int(ids.shape[0]))
        return self._model.step(ids, cache, index)


def _gather(nested, indices, axis):
    return tf.nest.map_structure(
        lambda tensor: tf.gather(tensor, indices, batch_dims=axis), nested
    )


def chain(*words, vocabulary_size=8, strength=5.0):
    """A table by which a `ScriptedModel` says the words, then END."""
    table = np.zeros([len(words) + 1, vocabulary_size, vocabulary_size])
    for index, word in enumerate((*words, END_ID)):
        table[index, :, word] = strength
    return table


def exhaustive(model, source_ids, limit, alpha):
    """Every hypothesis of one sentence, the best first.

    Returns:
        Tuples (finished, score, ids, log-probability): all that end within
        the limit, then those that reach it without END.
    """
    hypotheses = []

    def visit(prefix, value, cache):
        last = prefix[-1] if prefix else START_ID
        row, cache = log_softmax_step(model, last, cache, len(prefix))
        length = len(prefix) + 1
        for token in range(model.vocabulary_size):
            if token in (PAD_ID, START_ID):
                continue
            ids, total = (*prefix, token), value + row[token]
            if token == END_ID or length == limit:
                score = total / ((5 + length) / 6) ** alpha
                hypotheses.append((token == END_ID, score, ids, total))
            else:
                visit(ids, total, cache)

    visit((), 0.0, model.start(tf.constant([source_ids]), 1, limit))
    return sorted(hypotheses, reverse=True)


def log_softmax_step(model, last, cache, index):
    """One step of one sentence: float64 log-probabilities, and the cache."""
    step = model.step(tf.constant([[last]]), cache, index)
    row = np.asarray(step.logits, np.float64)[0, 0]
    return row - np.log(np.exp(row).sum()), step.cache


def forced(model, source_ids, ids):
    """The log-probability of `ids`, in plain NumPy arithmetic."""
    cache = model.start(tf.constant([source_ids]), 1, len(ids))
    total = 0.0
    last = START_ID
    for index, token in enumerate(ids):
        row, cache = log_softmax_step(model, last, cache, index)
        total += row[token]
        last = token
    return total


def random_sources(seed, rows=5, longest=6):
    """Padded sources of random lengths, and their lengths."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, longest + 1, rows)
    ids = random.integers(4, 20, [rows, longest])
    ids[np.arange(longest) >= lengths[:, None]] = PAD_ID
    return tf.constant(ids, tf.int32), tf.constant(lengths, tf.int32)


def traced(run):
    """`run(source_ids, limits)` as a graph that knows no sizes."""
    return tf.function(
        run,
        input_signature=[
            tf.TensorSpec([None, None], tf.int32),
            tf.TensorSpec([None], tf.int32),
        ],
        autograph=False,
    )


def words(result, sentence=0, row=0):
    """The ids of one hypothesis, its padding left out."""
    length = int(result.lengths[sentence, row])
    return result.ids[sentence, row, :length].numpy().tolist()


class ToyModel(tf.Module):
    """Signatures of all kinds of tensors.

    Args:
        mark: that is put before every text, to tell versions apart.
    """

    def __init__(self, mark=""):
        super().__init__()
        self.mark = tf.Variable(mark)

    @tf.function(input_signature=[STRINGS], autograph=False)
    def upper(self, text):
        return {"translation": self.mark + tf.strings.upper(text)}

    @tf.function(input_signature=[STRINGS], autograph=False)
    def length(self, text):
        return {
            "length": tf.strings.length(text),
            "half": tf.cast(tf.strings.length(text), tf.float32) / 2,
            "is_empty": tf.equal(text, ""),
            "copy_bytes": text,
        }

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.float32, name="x"),
            tf.TensorSpec([None], tf.float32, name="y"),
        ],
        autograph=False,
    )
    def add(self, x, y):
        return {"sum": x + y}

    @tf.function(
        input_signature=[tf.TensorSpec([None, None], tf.int32, "ids")],
        autograph=False,
    )
    def double(self, ids):
        return {"ids": ids * 2}

    @tf.function(
        input_signature=[tf.TensorSpec([], tf.float32, "x")], autograph=False
    )
    def scalar(self, x):
        return {"y": x + 1}

    @tf.function(input_signature=[STRINGS], autograph=False)
    def join(self, text):
        return {"text": tf.strings.reduce_join(text)}

    @tf.function(input_signature=[STRINGS], autograph=False)
    def number(self, text):
        return {"value": tf.strings.to_number(text)}

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.bool, "flag")],
        autograph=False,
    )
    def flip(self, flag):
        return {"flag": tf.logical_not(flag)}

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.int64, "steps")],
        autograph=False,
    )
    def spin(self, steps):
        """Takes as long as the first row says, in additions."""
        total = tf.while_loop(
            lambda i: i < steps[0],
            lambda i: [i + 1],
            [tf.constant(0, tf.int64)],
        )[0]
        return {"total": tf.fill(tf.shape(steps), total)}


SIGNATURES = {
    "serving_default": "upper",
    **{
        name: name
        for name in "length add double scalar join number flip spin".split()
    },
}


def write_version(base: pathlib.Path, version: int, warmup=(), **options):
    """Writes a version of the toy model; returns its folder.

    Args:
        base: of the versions.
        version: its number.
        warmup: texts of warm-up requests to `number`.
        options: of `ToyModel`.
    """
    model = ToyModel(**options)
    temporary = base / f".tmp-{version}"
    signatures = {k: getattr(model, name) for k, name in SIGNATURES.items()}
    tf.saved_model.save(model, str(temporary), signatures)
    if warmup:
        extra = temporary / "assets.extra"
        extra.mkdir()
        write_warmup(extra / "tf_serving_warmup_requests", warmup)
    return temporary.rename(base / str(version))


def write_identities(folder, dtypes):
    """Writes a model that gives back a vector `x` as `y`.

    Args:
        folder: of the version.
        dtypes: of the signatures, `DataType` by name.
    """
    builder = tf.compat.v1.saved_model.builder.SavedModelBuilder(str(folder))
    signatures = {}
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        for name, dtype in dtypes.items():
            x = tf.compat.v1.placeholder(dtype, [None])
            signatures[name] = signature = SignatureDef(
                method_name="tensorflow/serving/predict"
            )
            for infos, tensor in (
                (signature.inputs["x"], x),
                (signature.outputs["y"], tf.identity(x)),
            ):
                infos.name, infos.dtype = tensor.name, dtype
                infos.tensor_shape.dim.add(size=-1)
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()


def write_warmup(path, texts):
    """Writes warm-up records to the signature `number`, one a text."""
    from tensorflow_serving.apis import prediction_log_pb2

    with tf.io.TFRecordWriter(str(path)) as writer:
        for text in texts:
            log = prediction_log_pb2.PredictionLog()
            request = log.predict_log.request
            request.model_spec.signature_name = "number"
            request.inputs["text"].CopyFrom(tf.make_tensor_proto([text]))
            writer.write(log.SerializeToString())


MODELS_CONFIG = """model_config_list {{ config {{
  name: "toy" base_path: "{base}" model_platform: "tensorflow"
  model_version_policy {{ latest {{ num_versions: 2 }} }}
  version_labels {{ key: "stable" value: 1 }}
}} }}
"""


class ToyTranslator(tf.Module):
    """Translates to capitals, word by word, in texts without padding.

    Its scores are the length in characters by -10; each token has the
    probability 0.5.
    """

    @tf.function(input_signature=[STRINGS], autograph=False)
    def translate(self, text):
        return {
            "translation": tf.strings.upper(text),
            "score": _score(text),
            "truncated": _is_truncated(text),
            "sentences": tf.ones(tf.shape(text), tf.int32),
        }

    @tf.function(input_signature=[STRINGS], autograph=False)
    def nbest(self, text):
        """Capitals, capitals with a mark, and a row that is left over."""
        upper, score = tf.strings.upper(text), _score(text)
        left_over = tf.fill(tf.shape(score), -1e9)
        texts = [upper, upper + "!", tf.zeros_like(upper)]
        return {
            "translations": tf.stack(texts, axis=1),
            "scores": tf.stack([score, score - 0.5, left_over], axis=1),
            "truncated": _is_truncated(text),
            "sentences": tf.ones(tf.shape(text), tf.int32),
        }

    @tf.function(
        input_signature=[
            STRINGS,
            tf.TensorSpec([None], tf.string, name="translation"),
        ],
        autograph=False,
    )
    def score(self, text, translation):
        tokens = tf.cast(_words(translation).row_lengths(), tf.int32) + 1
        return {
            "log_probability": tf.cast(tokens, tf.float32) * tf.math.log(0.5),
            "tokens": tokens,
            "score": _score(text),
        }

    @tf.function(input_signature=[STRINGS], autograph=False)
    def align(self, text):
        words = _words(text)
        edge = tf.fill([tf.shape(text)[0], 1], "")
        end = tf.fill([tf.shape(text)[0], 1], SPECIAL_TOKENS[END_ID])
        source = tf.concat([edge, words, edge], axis=1)
        target = tf.concat([tf.strings.upper(words.to_tensor()), end], axis=1)
        width = tf.cast(source.bounding_shape()[1], tf.int32)
        copied = tf.one_hot(tf.range(1, tf.shape(target)[1] + 1), width)
        shares = copied * (1 - REST) + REST / tf.cast(width, tf.float32)
        return {
            "source_tokens": source.to_tensor(),
            "target_tokens": target,
            "alignment": tf.repeat(shares[tf.newaxis], tf.shape(text)[0], 0),
            "truncated": _is_truncated(text),
        }


def _words(text):
    return tf.strings.split(text)


def _score(text):
    length = tf.strings.length(text, unit="UTF8_CHAR")
    return -tf.cast(length, tf.float32) / 10


def _is_truncated(text):
    return tf.strings.length(text, unit="UTF8_CHAR") > MAX_CHARACTERS


def write_translator(base: pathlib.Path, version: int):
    """Writes a version of the toy translator into the models' folder."""
    model = ToyTranslator()
    signatures = {
        "serving_default": model.translate,
        "nbest": model.nbest,
        "score": model.score,
        "align": model.align,
    }
    tf.saved_model.save(model, str(base / str(version)), signatures)


def main():
    """Writes both versions and `models.config`, for the real server."""
    folder = pathlib.Path(sys.argv[1]).resolve()
    base = folder / "toy"
    base.mkdir(parents=True)
    write_version(base, 1, mark="one ")
    write_version(base, 2)
    config = folder / "models.config"
    config.write_text(MODELS_CONFIG.format(base=base))


if __name__ == "__main__":
    main()
