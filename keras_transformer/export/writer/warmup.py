"""Requests with which the server warms a model up when it loads it.

The file is a TFRecord of `tensorflow.serving.PredictionLog`.
"""

from collections.abc import Iterator

from keras_transformer.contract.layout import SIGNATURES
from keras_transformer.contract.protobuf import message, string_tensor
from keras_transformer.export.writer.tfrecord import read_records, write_records

# The server refuses more than 1000 records: each text alone and one batch,
# for each signature.
MAX_TEXTS = 1000 // len(SIGNATURES) - 1

# A server that joins requests refuses one with more rows than its batches
# have (see `server_templates.BATCHING`), and doesn't load the model then.
MAX_BATCH = 32


def warmup_batches(inputs: dict[str, list[str]]) -> list[dict]:
    """Each row of a signature's inputs alone, then all of them together.

    Of many, `MAX_BATCH` are together.
    """
    count = len(next(iter(inputs.values())))
    alone = [
        {name: values[row : row + 1] for name, values in inputs.items()}
        for row in range(count)
    ]
    if count == 1:
        return alone
    together = {name: values[:MAX_BATCH] for name, values in inputs.items()}
    return [*alone, together]


def write_warmup(path, name: str, inputs: dict[str, dict]) -> int:
    """Writes the requests of all signatures.

    Args:
        path: of the file to write; its folder is there.
        name: the model's name, as requests give it.
        inputs: by signature, then by input: texts.

    Returns:
        The number of records.
    """
    return write_records(
        path,
        (
            _record(name, signature, batch)
            for signature, all_values in inputs.items()
            for batch in warmup_batches(all_values)
        ),
    )


def read_warmup(path) -> Iterator[tuple[str, dict[str, list[bytes]]]]:
    """The requests in a file, in order.

    Yields:
        The signature's name and `{input name: texts}`.

    Raises:
        ValueError: the file is damaged.
    """
    for record in read_records(path):
        request = message("PredictionLog").FromString(record)
        request = request.predict_log.request
        inputs = {
            name: list(tensor.string_val)
            for name, tensor in request.inputs.items()
        }
        yield request.model_spec.signature_name, inputs


def _record(name, signature, batch):
    """One request, serialised."""
    log = message("PredictionLog")()
    request = log.predict_log.request
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    for key, values in batch.items():
        request.inputs[key].CopyFrom(string_tensor(values))
    return log.SerializeToString(deterministic=True)
