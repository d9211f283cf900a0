"""Servers on Kubernetes: one file with all that a service of models needs."""

import dataclasses
import math
import os
import pathlib
from collections.abc import Mapping

from keras_transformer.checksums import digest
from keras_transformer.contract.layout import IMAGE, METRICS_PATH
from keras_transformer.deployment.model_configs import (
    BATCHING_CONFIG,
    GRPC_PORT,
    MODELS_CONFIG,
    REST_PORT,
    USER,
    batching_config,
    default_name,
    models_beside,
    models_config,
    monitoring_config,
    served_folders,
    server_flags,
    weights_size,
)
from keras_transformer.deployment.templates import fill
from keras_transformer.deployment.values import (
    environment_lines,
    in_yaml,
    yaml_list,
)
from keras_transformer.errors import InputError
from keras_transformer.export.registry.releases import served_versions
from keras_transformer.export.registry.version_folders import folder_size

TENSORFLOW = "tensorflow"
EMBEDDED = "embedded"
KUBERNETES = "kubernetes.yaml"
METRIC = "translation_requests_per_second"
# Reads s3://, which TensorFlow Serving doesn't since 2.7.
_COPIER = "amazon/aws-cli:2.27.0"
_CONFIG = "/config"
# REST gives a request so long, and so do the flags below.
_REQUEST_SECONDS = 30
# Until every load balancer has heard that a pod goes.
_NOTICE_SECONDS = 10
# Requests at a time. By default the server has four threads for each
# processor of the machine, be the pod's part of it as small as it is; with
# fewer requests at a time there would be no full batches.
_REQUESTS = 256
_STARTUP_PERIOD = 5  # seconds
# MiB, by `scripts/benchmarks/capacity --memory`: of a server, of each version
# that is loaded and of each batch at work, the latter two beside what grows
# with the weights. With presets `notebook` and `base`, 55 and 194 MiB of
# weights, two versions and two batches of 64 took 1,331 and 2,100 MiB; this
# says 1,480 and 2,148, before it is rounded up.
_SERVER_MIB, _VERSION_MIB, _BATCH_MIB = 512, 96, 256
# Of the embedded server's largest requests: 200 of 4 MiB at a time took 327 MiB
# over REST, which counts bytes as they come, and 753 over gRPC.
_BODIES_MIB = 768
_FOR_EACH_WEIGHT = 1.2
_MIB = 2**20


@dataclasses.dataclass(frozen=True)
class ServingOptions:
    """How models are served; values as `values.require_kind` accepts them.

    Attributes:
        name: of all objects; "": made of the model's.
        namespace: of all objects; "": that of who applies the file.
        server: `TENSORFLOW` or `EMBEDDED`.
        image: with the server and, unless `claim` or `bucket` say where they
            are, the models; "": the one that the Dockerfile makes.
        claim: PersistentVolumeClaim that holds the models' folders.
        folder: of it; "": its root.
        bucket: "gs://..." or "s3://...", which holds the models' folders.
        cpus: that a pod requests; as many batches are computed at a time.
        memory: of a pod, MiB; None: what the models' weights let expect.
        replicas: the fewest and the most pods.
        rate: requests a second that a pod shall get; None: the autoscaler
            measures processors.
        start_seconds: that the models may take to be loaded.
        service_account: of the pods; "": the namespace's.
        callers: namespaces whose pods may ask, beside the service's own.
        environment: variables of the server.
    """

    name: str = ""
    namespace: str = ""
    server: str = TENSORFLOW
    image: str = ""
    claim: str = ""
    folder: str = ""
    bucket: str = ""
    cpus: int = 2
    memory: int | None = None
    replicas: tuple[int, int] = (2, 10)
    rate: float | None = None
    start_seconds: int = 900
    service_account: str = ""
    callers: tuple[str, ...] = ()
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        least, most = self.replicas
        if not 1 <= least <= most:
            raise InputError(
                "the fewest replicas are 1 or more, and the most no fewer. "
                f"Received: {least} and {most}"
            )
        if self.claim and self.bucket:
            raise InputError(
                "the models are on a volume or in a bucket, not both. "
                f"Received: {self.claim} and {self.bucket}"
            )
        if self.server == EMBEDDED and not self.image:
            raise InputError(
                "the embedded server needs an image that has this package "
                "with its extra [serving]. Accepted: --image"
            )
        if self.server == EMBEDDED and self.bucket.startswith("gs://"):
            raise InputError(
                "the embedded server reads no gs://. Accepted: a volume "
                "(--claim), s3://, or --server tensorflow"
            )


def serving_manifests(
    base: str | os.PathLike, options: ServingOptions, file: str = KUBERNETES
) -> str:
    """The Kubernetes objects of a service, as YAML documents.

    Args:
        base: a model's folder; all models beside it are served.
        options: how.
        file: the name that the comments call it by.

    Raises:
        InputError: no version, a label that names none, or a damaged file.
    """
    base = pathlib.Path(base).resolve()
    bases = models_beside(base)
    name = options.name or default_name(base)
    values = {
        **dataclasses.asdict(options),
        "file": file,
        "name": name,
        "user": USER,
        "grpc_port": GRPC_PORT,
        "rest_port": REST_PORT,
        "metrics_path": METRICS_PATH,
        "metric": METRIC,
        "single": len(bases) == 1,
        "several": len(bases) > 1,
        "models": " ".join(path.name for path in bases),
        "image": options.image or _image(base, options),
        "folder": options.folder and in_yaml(options.folder),
        "environment": environment_lines(options.environment),
        "least": options.replicas[0],
        "most": options.replicas[1],
        "rate": options.rate and in_yaml(f"{options.rate:g}"),
        **_configurations(bases, name, options),
        **_sources(bases, options),
        **_server(options),
        **_sizes(bases, options),
        **_callers(options),
    }
    return fill("serving.yaml", values)


def image_tag(base: pathlib.Path) -> str:
    """The image's: the highest version, and what changes with any label.

    With the same tag Kubernetes would see nothing to replace.
    """
    configs = models_config(models_beside(base))
    configs += batching_config() + monitoring_config()
    return f"{max(served_versions(base))}-{_short_digest(configs)}"


def memory_needed(weights: list[int], threads: int) -> int:
    """MiB that a server needs.

    Args:
        weights: bytes of each version's that is loaded.
        threads: batches at a time.
    """
    # While a new version is loaded, the old one still answers.
    loaded = [*weights, max(weights)]
    growing = _FOR_EACH_WEIGHT * (sum(loaded) + threads * max(weights)) / _MIB
    fixed = _SERVER_MIB + _VERSION_MIB * len(loaded) + _BATCH_MIB * threads
    return math.ceil((fixed + growing) / 256) * 256


def memory_of(bases: list[pathlib.Path], threads: int) -> int:
    """MiB that a server of all versions that are served needs.

    Args:
        bases: the models' folders.
        threads: batches at a time.
    """
    folders = [folder for base in bases for folder in served_folders(base)]
    return memory_needed([weights_size(folder) for folder in folders], threads)


def _image(base, options):
    if options.claim or options.bucket:
        return IMAGE
    return f"{default_name(base)}:{image_tag(base)}"


def _configurations(bases, name, options):
    """What the ConfigMap holds, and its name."""
    native = options.bucket.startswith("gs://")
    batching = batching_config(options.cpus)
    monitoring = monitoring_config()
    root = options.bucket if native else "/models"
    models = models_config(bases, root)
    names = " ".join(path.name for path in bases)
    ready = fill("ready.sh", {"models": names, "rest_port": REST_PORT})
    # A pod whose models came with it lacks the versions that a later
    # models.config may name, and would unload its own for them: it keeps the
    # ConfigMap that it was started with, and another one has another name.
    live = bool(options.claim) or native
    contents = "".join([models, batching, monitoring, ready])
    return {
        "live_models": live,
        "config_name": name if live else f"{name}-{_short_digest(contents)}",
        "models_config": models,
        "batching_config": batching,
        "monitoring_config": monitoring,
        "ready_script": ready,
        "config_digest": digest((batching + monitoring).encode())[:16],
    }


def _short_digest(text):
    return digest(text.encode())[:8]


def _sources(bases, options):
    """Where the models come from."""
    folders = [folder for base in bases for folder in served_folders(base)]
    copied = options.bucket.startswith("s3://")
    arguments = ["s3", "sync", options.bucket, "/models"]
    arguments += ["--only-show-errors", "--exclude", "*"]
    for folder in folders:
        part = f"{folder.parent.name}/{folder.name}/*"
        arguments += ["--include", part]
    size = sum(map(folder_size, folders)) / _MIB
    limit = math.ceil(1.25 * size) + 64
    return {
        "in_image": not (options.claim or options.bucket),
        "native_bucket": options.bucket.startswith("gs://"),
        "copied_bucket": copied,
        "copier": _COPIER,
        "copier_arguments": yaml_list(arguments),
        "models_limit": limit,
        "storage": 128 + (limit if copied else 0),
        "storage_limit": 1024 + (limit if copied else 0),
    }


def _server(options):
    """What runs in the container, and how it ends."""
    tensorflow = options.server == TENSORFLOW
    program = ["tensorflow_model_server"]
    arguments = _tensorflow_arguments(options)
    stop_seconds, end_seconds = _NOTICE_SECONDS + _REQUEST_SECONDS, 5
    if not tensorflow:
        program = ["keras-transformer", "serve"]
        arguments = _embedded_arguments()
        stop_seconds, end_seconds = _NOTICE_SECONDS, _REQUEST_SECONDS + 10
    return {
        "tensorflow": tensorflow,
        "embedded": not tensorflow,
        "program": ", ".join(program),
        "arguments": yaml_list(arguments),
        "notice_seconds": _NOTICE_SECONDS,
        "request_seconds": _REQUEST_SECONDS,
        "stop_seconds": stop_seconds,
        "grace_seconds": stop_seconds + end_seconds,
        "start_probes": math.ceil(options.start_seconds / _STARTUP_PERIOD),
        "progress_seconds": options.start_seconds + 300,
    }


def _tensorflow_arguments(options):
    return [
        f"--port={GRPC_PORT}",
        f"--rest_api_port={REST_PORT}",
        *server_flags(_CONFIG),
        f"--rest_api_timeout_in_ms={1000 * _REQUEST_SECONDS}",
        f"--rest_api_num_threads={_REQUESTS}",
        f"--grpc_max_threads={_REQUESTS}",
        # A connection ends after five minutes, and the client that makes it
        # anew sees the pods that have come.
        "--grpc_channel_arguments=grpc.max_connection_age_ms=300000,"
        f"grpc.max_connection_age_grace_ms={1000 * _REQUEST_SECONDS}",
        f"--tensorflow_inter_op_parallelism={options.cpus}",
    ]


def _embedded_arguments():
    return [
        "--engine=embedded",
        "--host=0.0.0.0",
        f"--port={GRPC_PORT}",
        f"--rest_api_port={REST_PORT}",
        f"--model_config_file={_CONFIG}/{MODELS_CONFIG}",
        "--file_system_poll_wait_seconds=60",
        "--enable_batching=true",
        f"--batching_parameters_file={_CONFIG}/{BATCHING_CONFIG}",
        f"--rest_api_timeout_in_ms={1000 * _REQUEST_SECONDS}",
        f"--max-requests={_REQUESTS}",
        f"--drain-seconds={_REQUEST_SECONDS}",
        # Else as many as the machine has processors for each batch.
        "--tensorflow_intra_op_parallelism=1",
        "--no-page",
    ]


def _sizes(bases, options):
    memory = memory_of(bases, options.cpus)
    if options.server == EMBEDDED:
        memory += _BODIES_MIB
    return {"memory": options.memory or memory}


def _callers(options):
    lines = []
    for namespace in options.callers:
        lines += [
            "- namespaceSelector:",
            "    matchLabels:",
            f"      kubernetes.io/metadata.name: {namespace}",
        ]
    others = f", and of {', '.join(options.callers)}" if lines else ""
    return {"callers": "\n".join(lines), "and_others": others}
