"""The flags of `serve`, for each of its engines."""

import math
import os
import pathlib

from keras_transformer.errors import InputError
from keras_transformer.serving.server import engines


def add_arguments(parser):
    """All flags; those with underscores are TensorFlow Serving's."""
    models = parser.add_argument_group("what is served")
    models.add_argument(
        "--model_base_path",
        metavar="FOLDER",
        help="of one model: it holds the version folders",
    )
    models.add_argument(
        "--model_name",
        metavar="NAME",
        help="its name in requests (default: the folder's)",
    )
    models.add_argument(
        "--model_config_file",
        metavar="FILE",
        help="several models: a ModelServerConfig text proto",
    )
    models.add_argument(
        "--file_system_poll_wait_seconds",
        type=float,
        default=1.0,
        metavar="S",
        help="between two looks for new versions; 0: one look (default: 1)",
    )
    models.add_argument(
        "--engine",
        choices=engines.ENGINES,
        default=engines.AUTO,
        help="auto takes the first of the others that is there",
    )
    _add_ports(parser.add_argument_group("where"))
    _add_batching(parser.add_argument_group("batching"))
    _add_limits(parser.add_argument_group("of the embedded server only"))


def _add_ports(group):
    group.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="to listen on; 0.0.0.0 is all (default: %(default)s)",
    )
    group.add_argument(
        "--port",
        type=int,
        default=8500,
        metavar="N",
        help="of gRPC; 0 is none (default: %(default)s)",
    )
    group.add_argument(
        "--rest_api_port",
        type=int,
        default=8501,
        metavar="N",
        help="of REST; 0 is none (default: %(default)s)",
    )
    group.add_argument(
        "--rest_api_timeout_in_ms",
        type=int,
        default=30000,
        metavar="MS",
        help="for a REST request (default: %(default)s)",
    )


def _add_batching(group):
    group.add_argument(
        "--enable_batching",
        nargs="?",
        type=_boolean,
        const=True,
        default=False,
        metavar="true|false",
        help="run requests of several clients together",
    )
    group.add_argument(
        "--batching_parameters_file",
        metavar="FILE",
        help="a BatchingParameters text proto",
    )
    group.add_argument(
        "--tensorflow_intra_op_parallelism",
        type=int,
        default=0,
        metavar="N",
        help="threads of an operation (default: the cores divided by "
        "num_batch_threads; TensorFlow Serving: its own choice)",
    )


def _add_limits(group):
    for name, kind, default, text in (
        ("max-request-bytes", int, 4 * 2**20, "of a request's body"),
        ("max-sentences", int, 1024, "of a request"),
        ("max-text-bytes", int, 16384, "of one sentence, in UTF-8"),
        ("max-requests", int, 256, "to predict, in the server at once"),
        ("receive-seconds", float, 10.0, "for a request to arrive whole"),
        ("drain-seconds", float, 30.0, "for requests in flight at the end"),
    ):
        group.add_argument(
            f"--{name}",
            type=kind,
            default=default,
            metavar="S" if kind is float else "N",
            help=f"{text} (default: %(default)s)",
        )
    group.add_argument(
        "--no-access-log", action="store_true", help="log no requests"
    )
    group.add_argument(
        "--log-text",
        action="store_true",
        help="log what requests say, too",
    )
    group.add_argument(
        "--no-page",
        action="store_true",
        help="no page for people at / of the REST port",
    )


def server_flags(arguments) -> dict:
    """TensorFlow Serving's flags by name; None is left out."""
    flags = {
        "port": arguments.port,
        "rest_api_port": arguments.rest_api_port,
        "rest_api_timeout_in_ms": arguments.rest_api_timeout_in_ms,
        # It takes whole seconds, and at 0 looks once.
        "file_system_poll_wait_seconds": math.ceil(
            max(0, arguments.file_system_poll_wait_seconds)
        ),
    }
    if arguments.model_base_path:
        flags["model_name"] = _model_name(arguments)
        flags["model_base_path"] = _absolute(arguments.model_base_path)
    else:
        flags["model_config_file"] = _absolute(arguments.model_config_file)
        # So that the file is read again, and labels are taken at the start,
        # as by the embedded server.
        flags["model_config_file_poll_wait_seconds"] = flags[
            "file_system_poll_wait_seconds"
        ]
        flags["allow_version_labels_for_unavailable_models"] = True
    if arguments.enable_batching:
        flags["enable_batching"] = True
        file = arguments.batching_parameters_file
        flags["batching_parameters_file"] = _absolute(file) if file else None
    threads = arguments.tensorflow_intra_op_parallelism
    flags["tensorflow_intra_op_parallelism"] = threads or None
    return flags


def mounted_paths(arguments) -> list[str]:
    """What a container has to see: the files, and the models' folders."""
    files = [arguments.model_config_file, arguments.batching_parameters_file]
    paths = [arguments.model_base_path, *files]
    if arguments.model_config_file:
        from keras_transformer.serving.server.config_files import (
            read_model_configs,
        )

        configs = read_model_configs(arguments.model_config_file)
        paths += [config.base_path for config in configs]
    return [_absolute(path) for path in dict.fromkeys(paths) if path]


def server_options(arguments):
    """The `ServerOptions` of the embedded server.

    Raises:
        InputError: a value or a file isn't what is accepted.
    """
    from keras_transformer.serving.server.admission import Limits
    from keras_transformer.serving.server.config_files import (
        BatchingParameters,
        ModelConfig,
        read_batching_parameters,
    )
    from keras_transformer.serving.server.server import ServerOptions

    base, file = arguments.model_base_path, arguments.batching_parameters_file
    config = arguments.model_config_file
    models = ()
    if base:
        models = (ModelConfig(_model_name(arguments), pathlib.Path(base)),)
    return ServerOptions(
        models=models,
        config_file=pathlib.Path(config) if config else None,
        host=arguments.host,
        port=arguments.port or None,
        rest_port=arguments.rest_api_port or None,
        batching=arguments.enable_batching,
        parameters=(
            read_batching_parameters(file) if file else BatchingParameters()
        ),
        limits=Limits(
            arguments.max_request_bytes,
            arguments.max_sentences,
            arguments.max_text_bytes,
            arguments.max_requests,
            arguments.receive_seconds,
            arguments.rest_api_timeout_in_ms / 1000,
        ),
        poll_seconds=arguments.file_system_poll_wait_seconds,
        intra_op_threads=arguments.tensorflow_intra_op_parallelism,
        drain_seconds=arguments.drain_seconds,
        access_log=not arguments.no_access_log,
        log_text=arguments.log_text,
        page=not arguments.no_page,
    )


def _boolean(text):
    if text.lower() not in ("true", "false", "1", "0"):
        raise InputError(
            f"--enable_batching takes true or false. Received: {text!r}"
        )
    return text.lower() in ("true", "1")


def _model_name(arguments):
    return (
        arguments.model_name
        or pathlib.Path(_absolute(arguments.model_base_path)).name
    )


def _absolute(path):
    # A link to a folder lends it its name.
    return os.path.abspath(path)
