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
from google.protobuf.json_format import ParseDict

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
    kind = _pool().FindMessageTypeByName(f"tests.{name}")
    return text_format.Parse(text, message_factory.GetMessageClass(kind)())


@functools.cache
def _pool():
    file = {
        "name": "tests/serving.proto",
        "package": "tests",
        "syntax": "proto3",
        "messageType": [
            {
                "name": name,
                "field": [
                    {"name": field, "number": number, **_kind(kind)}
                    for field, (number, kind) in fields.items()
                ],
            }
            for name, fields in _MESSAGES.items()
        ],
    }
    pool = descriptor_pool.DescriptorPool()
    pool.Add(ParseDict(file, descriptor_pb2.FileDescriptorProto()))
    return pool


def _kind(text):
    *many, kind = text.split()
    label = "LABEL_REPEATED" if many else "LABEL_OPTIONAL"
    if kind in _MESSAGES:
        return {"label": label, "typeName": f".tests.{kind}"}
    return {"label": label, "type": f"TYPE_{kind.upper()}"}
