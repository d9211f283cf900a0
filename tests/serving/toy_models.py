"""SavedModels of a few operations, made in a second."""

import pathlib
import sys

import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

STRINGS = tf.TensorSpec([None], tf.string, name="text")


class ToyModel(tf.Module):
    """Signatures of all kinds of tensors.

    Args:
        mark: that is put before every text, to tell versions apart.
    """

    def __init__(self, mark=""):
        super().__init__()
        self.mark = tf.Variable(mark)

    @tf.function(input_signature=[STRINGS])
    def upper(self, text):
        return {"translation": self.mark + tf.strings.upper(text)}

    @tf.function(input_signature=[STRINGS])
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
        ]
    )
    def add(self, x, y):
        return {"sum": x + y}

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, "ids")])
    def double(self, ids):
        return {"ids": ids * 2}

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, "x")])
    def scalar(self, x):
        return {"y": x + 1}

    @tf.function(input_signature=[STRINGS])
    def join(self, text):
        return {"text": tf.strings.reduce_join(text)}

    @tf.function(input_signature=[STRINGS])
    def number(self, text):
        return {"value": tf.strings.to_number(text)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.bool, "flag")])
    def flip(self, flag):
        return {"flag": tf.logical_not(flag)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64, "steps")])
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


def write_warmup(path, texts):
    """Writes warm-up records to the signature `number`, one a text."""
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
