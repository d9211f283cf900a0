"""`serve`: its flags, and the toy export through all of it."""

import json
import os
import signal

import pytest

from keras_transformer.cli.main import build_parser
from keras_transformer.cli.serve import server_options
from tests.cli.conftest import needs_serving, start
from tests.serving.asking import ask, free_ports

pytestmark = pytest.mark.usefixtures("xla_stays")


def parsed(*options):
    return build_parser().parse_args(["serve", *map(str, options)])


def test_a_folder_is_no_value_of_batching(tmp_path, capsys):
    with pytest.raises(SystemExit):
        parsed("--enable_batching", tmp_path)
    said = capsys.readouterr().err
    assert "true or false" in said
    assert "_boolean" not in said


@needs_serving
def test_flags_become_options(tmp_path):
    (tmp_path / "real").mkdir()
    base = tmp_path / "en-zh"
    base.symlink_to(tmp_path / "real")  # The name is that of the link.
    options = server_options(
        parsed(
            *("--model_base_path", base, "--max-values", 5),
            *("--max-bytes-in-flight", 6, "--load-seconds", 7.5),
        )
    )
    assert [model.name for model in options.models] == ["en-zh"]
    assert options.limits.max_values == 5
    assert options.limits.max_bytes_in_flight == 6
    assert options.load_seconds == 7.5


@needs_serving
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("", ["--model_base_path FOLDER", "--model_config_file FILE"]),
        ("/none", ["/none: no such folder"]),
        ("--model_config_file /none", ["/none", "No such file"]),
        ("--port=70000", ["--port: must be 65535 or less", "70000"]),
        ("--enable_batching x", ["true or false", "'x'"]),
        (
            "--rest_api_timeout_in_ms=0",
            ["--rest_api_timeout_in_ms: must be 1 or more. Received: 0"],
        ),
        (". --port=0 --rest_api_port=0", ["nothing to listen on", "above 0"]),
        (". --port=8501 --rest_api_port=8501", ["both 8501", "two ports"]),
        (". --batching_parameters_file x", ["--enable_batching"]),
        (". --max-sentences=0", ["max_sentences must be greater than 0"]),
        (". --load-seconds=0", ["load_seconds must be greater than 0", "0.0"]),
    ],
)
def test_bad_input(refuses, options, says):
    refuses("serve", "--engine=embedded", *options.split(), says=says)


@needs_serving
def test_the_export_is_served_until_sigterm(export):
    rest, rpc = free_ports(2)
    command = ["serve", "--engine", "embedded", "--model_base_path", export]
    process = start(*command, "--rest_api_port", rest, "--port", rpc)
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
    assert process.returncode == 0
    assert out == ""
    assert f"REST on 127.0.0.1:{rest}" in lines
    assert f"page at http://127.0.0.1:{rest}/" in lines
    logged, stopping, *_ = err.splitlines()
    assert json.loads(logged)["rows"] == 1
    assert "one two" not in logged
    assert stopping == "stopping: 0 requests in flight"
    assert err.endswith("stopped\n")


@pytest.fixture
def signals():
    """Puts the handlers of signals back."""
    ends = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in ends.items():
        signal.signal(number, handler)


@needs_serving
@pytest.mark.usefixtures("signals")
def test_a_signal_ends_a_server_that_still_loads(
    tmp_path, monkeypatch, refuses
):
    from keras_transformer.serving.server import server

    monkeypatch.setattr(
        server.Server, "start", lambda _: signal.raise_signal(signal.SIGINT)
    )
    monkeypatch.setattr(server.Server, "stop", lambda _: None)
    # A shell's background job has it ignored, and the server would wait on.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command = ["serve", "--engine", "embedded", "--model_base_path"]
    refuses(*command, tmp_path, says=["interrupted"])


@pytest.mark.medium
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
    assert "uvicorn isn't installed" in err
    assert "pip install '.[serving]'" in err
