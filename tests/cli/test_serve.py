"""`serve`: its engines, its flags, and the toy export through all of it."""

import csv
import gc
import importlib.util
import json
import os
import signal
import stat
import threading

import pytest

from keras_transformer.cli.main import build_parser, main
from keras_transformer.cli.serve import server_options
from keras_transformer.errors import InputError
from keras_transformer.exporting.verification import c_api
from keras_transformer.serving.server import engines
from tests.attack.served import free_ports
from tests.cli.conftest import start
from tests.serving.asking import ask

needs_extra = pytest.mark.skipif(
    not all(
        importlib.util.find_spec(name)
        for name in ("tensorflow_serving", "grpc_health", "uvicorn")
    ),
    reason="needs the extra [serving]",
)


@pytest.fixture(autouse=True)
def xla_stays(monkeypatch):
    """Tests that follow in this process compile."""
    monkeypatch.setattr(c_api, "disable_xla", lambda: True)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A PATH with nothing but the shell programs that a test puts there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def add(name, text):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    return add


def test_the_first_engine_that_is_there_is_taken(programs):
    assert engines.choose_engine("auto") == "embedded"
    programs("docker", "exit 1")
    assert engines.choose_engine("auto") == "embedded"
    programs("docker", f'[ "$*" = "image inspect {engines.IMAGE}" ]')
    assert engines.choose_engine("auto") == "docker"
    programs("tensorflow_model_server", "exit 0")
    assert engines.choose_engine("auto") == "tensorflow_model_server"
    for engine in engines.ENGINES[1:]:
        assert engines.choose_engine(engine) == engine


@pytest.mark.parametrize("engine", ["tensorflow_model_server", "docker"])
def test_an_engine_that_is_not_there(programs, engine):
    with pytest.raises(InputError, match=f"--engine {engine}: .*Accepted: "):
        engines.choose_engine(engine)


def parsed(*options):
    return build_parser().parse_args(["serve", *map(str, options)])


def test_flags_for_the_real_server(tmp_path):
    (tmp_path / "real").mkdir()
    base = tmp_path / "en-zh"
    base.symlink_to(tmp_path / "real")  # The name is that of the link.
    assert engines.model_server_command(
        parsed("--model_base_path", base, "--port", 9, "--enable_batching")
    ) == [
        "tensorflow_model_server",
        "--port=9",
        "--rest_api_port=8501",
        "--rest_api_timeout_in_ms=30000",
        "--file_system_poll_wait_seconds=1",
        "--enable_batching=true",
        "--tensorflow_intra_op_parallelism=1",
        "--model_name=en-zh",
        f"--model_base_path={base}",
    ]
    words = engines.model_server_command(
        parsed(
            *("--model_config_file", tmp_path / "models.config"),
            "--file_system_poll_wait_seconds=2.5",
        )
    )
    assert f"--model_config_file={tmp_path}/models.config" in words
    assert "--model_config_file_poll_wait_seconds=3" in words
    assert "--allow_version_labels_for_unavailable_models=true" in words
    assert not any("model_base_path" in word for word in words)


def test_a_folder_is_no_value_of_batching(tmp_path, capsys):
    with pytest.raises(SystemExit):
        parsed("--enable_batching", tmp_path)
    said = capsys.readouterr().err
    assert "true or false" in said
    assert "_boolean" not in said


@pytest.mark.parametrize(
    ("host", "published"),
    [("localhost", "127.0.0.1"), ("::1", "[::1]"), ("0.0.0.0", "0.0.0.0")],
)
def test_a_container_gets_an_address_and_any_path(tmp_path, host, published):
    base = tmp_path / 'a, "b"'
    options = ("--host", host, "--port", 85, "--rest_api_port", 0)
    command = engines.docker_command(
        parsed("--model_base_path", base, *options)
    )
    assert command.count("-p") == 1
    assert command[command.index("-p") + 1] == f"{published}:85:85"
    words = command[command.index(engines.IMAGE) :]
    assert {"--port=85", "--rest_api_port=0"} <= {*words}
    (fields,) = csv.reader([command[command.index("--mount") + 1]])
    assert fields == [
        *("type=bind", f"source={base}", f"target={base}", "readonly")
    ]


@needs_extra
def test_a_container_sees_the_models_of_a_file(tmp_path):
    file = tmp_path / "models.config"
    file.write_text(
        'model_config_list { config { name: "m" base_path: "/models/m" } }'
    )
    command = engines.docker_command(parsed("--model_config_file", file))
    for path in (file, "/models/m"):
        assert f"type=bind,source={path},target={path},readonly" in command
    at = command.index(engines.IMAGE)
    assert command[at - 2 : at] == ["--entrypoint", "tensorflow_model_server"]
    assert command[at + 1] == "--port=8500"


def test_the_engine_gets_the_flags(programs, tmp_path):
    printed = 'printf "%s\\n" "$@"; exit 7'
    # Later ones come before the earlier.
    for program, text, engine in (
        ("docker", f'[ "$1" = image ] && exit 0; {printed}', engines.IMAGE),
        ("tensorflow_model_server", printed, "tensorflow_model_server"),
    ):
        programs(program, text)
        process = start("serve", "--model_base_path", tmp_path, "--port", 9)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 7
        assert {"--port=9", f"--model_base_path={tmp_path}"} <= {
            *out.splitlines()
        }
        assert f"engine: {engine}" in err


@needs_extra
def test_limits_of_the_embedded_server(tmp_path):
    options = server_options(
        parsed(
            *("--model_base_path", tmp_path, "--max-values", 5),
            *("--max-bytes-in-flight", 6, "--load-seconds", 7.5),
        )
    )
    assert options.limits.max_values == 5
    assert options.limits.max_bytes_in_flight == 6
    assert options.load_seconds == 7.5


@needs_extra
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], ["--model_base_path FOLDER", "--model_config_file FILE"]),
        (["--model_base_path", "/none"], ["/none: no such folder"]),
        (["--model_config_file", "/none"], ["/none", "No such file"]),
        (["--port=70000"], ["--port: must be 65535 or less", "70000"]),
        (["--enable_batching", "x"], ["true or false", "'x'"]),
        (
            ["--model_base_path=.", "--port=0", "--rest_api_port=0"],
            ["nothing to listen on", "above 0"],
        ),
        (
            ["--model_base_path", ".", "--batching_parameters_file", "x"],
            ["--enable_batching"],
        ),
        (
            ["--model_base_path", ".", "--max-sentences", "0"],
            ["max_sentences must be greater than 0"],
        ),
        (
            ["--model_base_path", ".", "--load-seconds", "0"],
            ["load_seconds must be greater than 0", "0.0"],
        ),
    ],
    ids="nothing folder file port boolean ports batching limit load".split(),
)
def test_bad_input(refuses, options, says):
    refuses("serve", "--engine", "embedded", *options, says=says)


@needs_extra
def test_the_export_is_served_until_sigterm(export):
    rest, rpc = free_ports(2)
    command = ["serve", "--engine", "embedded", "--model_base_path", export]
    process = start(*command, "--rest_api_port", rest, "--port", rpc)
    # Whatever happens, the test ends.
    timer = threading.Timer(120, process.kill)
    timer.start()
    lines = []
    for line in process.stderr:
        lines.append(line.strip())
        if line.startswith("gRPC on"):
            break
    body = json.dumps({"instances": ["one two"]}).encode()
    answer = ask(f"127.0.0.1:{rest}", "/v1/models/toy:predict", body)
    assert answer.status == 200
    (row,) = json.loads(answer.body)["predictions"]
    assert isinstance(row["translation"], str)
    assert row["score"] <= 0
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate()
    timer.cancel()
    assert process.returncode == 0
    assert out == ""
    assert lines[0] == "engine: the embedded server"
    assert f"REST on 127.0.0.1:{rest}" in lines
    assert f"page at http://127.0.0.1:{rest}/" in lines
    logged, stopping, *_ = err.splitlines()
    assert json.loads(logged)["rows"] == 1
    assert "one two" not in logged
    assert stopping == "stopping: 0 requests in flight"
    assert err.endswith("stopped\n")


@needs_extra
def test_a_signal_ends_a_server_that_still_loads(
    tmp_path, monkeypatch, refuses
):
    from keras_transformer.serving.server import server

    monkeypatch.setattr(
        server.Server, "start", lambda _: signal.raise_signal(signal.SIGINT)
    )
    monkeypatch.setattr(server.Server, "stop", lambda _: None)
    ends = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    # A shell's background job has it ignored, and the server would wait on.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        command = ["serve", "--engine", "embedded", "--model_base_path"]
        refuses(*command, tmp_path, says=["interrupted"])
    finally:
        for number, handler in ends.items():
            signal.signal(number, handler)


@needs_extra
def test_what_lives_long_is_not_looked_through_for_cycles(
    tmp_path, monkeypatch
):
    """And a process that goes on isn't ended by what ends a server's."""
    from keras_transformer.cli import serve
    from keras_transformer.serving.server import server

    def started(self):
        self.rest_port = 1

    def tell(line):
        if line.startswith("REST on"):
            signal.raise_signal(signal.SIGTERM)

    frozen, timers = [], []
    timer = threading.Timer
    monkeypatch.setattr(server.Server, "start", started)
    monkeypatch.setattr(serve, "say", tell)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(1))
    monkeypatch.setattr(
        threading, "Timer", lambda *a: timers.append(timer(*a)) or timers[-1]
    )
    ends = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        command = ["serve", "--engine", "embedded", "--model_base_path"]
        assert main([*command, str(tmp_path)]) == 0
    finally:
        for number, handler in ends.items():
            signal.signal(number, handler)
    assert frozen == [1]
    assert len(timers) == 1
    assert timers[0].finished.is_set()


def test_without_the_extra_the_user_is_told_what_to_install(
    tmp_path, monkeypatch
):
    (tmp_path / "uvicorn.py").write_text(
        "raise ModuleNotFoundError('no uvicorn', name='uvicorn')"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    process = start(
        "serve", "--engine", "embedded", "--model_base_path", tmp_path
    )
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "needs the package uvicorn" in err
    assert "pip install '.[serving]'" in err
