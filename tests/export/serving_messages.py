"""The messages that TensorFlow Serving parses its files with.

Those of which `tensorflow-serving-api` has no module, or where it isn't
installed, are declared here. Source: tensorflow_serving/config/
{model_server,file_system_storage_path_source,monitoring}_config.proto and
servables/tensorflow/session_bundle_config.proto of TensorFlow Serving.

`keras_transformer.contract.protobuf` builds messages, too, and isn't used here:
what writes the files and what reads them must not share a mistake.
"""

import functools

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    text_format,
)

_FIELD = descriptor_pb2.FieldDescriptorProto
_KINDS = {
    "string": _FIELD.TYPE_STRING,
    "bool": _FIELD.TYPE_BOOL,
    "int64": _FIELD.TYPE_INT64,
    "uint32": _FIELD.TYPE_UINT32,
}
_MESSAGES = {
    "Int64Value": {"value": (1, "int64")},
    "BatchingParameters": {
        "max_batch_size": (1, "Int64Value"),
        "batch_timeout_micros": (2, "Int64Value"),
        "max_enqueued_batches": (3, "Int64Value"),
        "num_batch_threads": (4, "Int64Value"),
    },
    "PrometheusConfig": {"enable": (1, "bool"), "path": (2, "string")},
    "MonitoringConfig": {"prometheus_config": (1, "PrometheusConfig")},
    "Latest": {"num_versions": (1, "uint32")},
    "Specific": {"versions": (1, "many int64")},
    "VersionPolicy": {"latest": (100, "Latest"), "specific": (102, "Specific")},
    "Label": {"key": (1, "string"), "value": (2, "int64")},
    "ModelConfig": {
        "name": (1, "string"),
        "base_path": (2, "string"),
        "model_platform": (4, "string"),
        "model_version_policy": (7, "VersionPolicy"),
        "version_labels": (8, "many Label"),
    },
    "ModelConfigList": {"config": (1, "many ModelConfig")},
    "ModelServerConfig": {"model_config_list": (1, "ModelConfigList")},
}


def parse(name: str, text: str):
    """The message that a text proto spells; refuses unknown fields."""
    found = _pool().FindMessageTypeByName(f"tests.{name}")
    return text_format.Parse(text, message_factory.GetMessageClass(found)())


@functools.cache
def _pool():
    file = descriptor_pb2.FileDescriptorProto(
        name="tests/serving.proto", package="tests", syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            many, _, kind = kind.rpartition(" ")
            added = message.field.add(
                name=field,
                number=number,
                label=_FIELD.LABEL_REPEATED if many else _FIELD.LABEL_OPTIONAL,
            )
            if kind in _KINDS:
                added.type = _KINDS[kind]
            else:
                added.type = _FIELD.TYPE_MESSAGE
                added.type_name = f".tests.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool
