import pytest

from keras_transformer.errors import InputError
from keras_transformer.serving.server.config_files import (
    BatchingParameters,
    ModelConfig,
    read_batching_parameters,
    read_model_configs,
)
from keras_transformer.system.machine import usable_cores

A = 'config { name: "a" base_path: "/a" model_platform: "tensorflow" }'
TWO_MODELS = """
model_config_list {
  config {
    name: "a" base_path: "/models/a" model_platform: "tensorflow"
    model_version_policy { latest { num_versions: 2 } }
    version_labels { key: "stable" value: 1 }
    version_labels { key: "canary" value: 2 }
  }
  config {
    name: "b" base_path: "/models/b"
    model_version_policy { specific { versions: 3 versions: 5 } }
  }
  config {
    name: "c" base_path: "/models/c" model_version_policy { all {} }
  }
}
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "file.config"
        path.write_text(text)
        return path

    return write


def test_a_file_that_is_larger_than_any_is_not_read(tmp_path):
    path = tmp_path / "models.config"
    with path.open("wb") as file:
        file.truncate(2**40)  # A hole: it takes no space.
    for read in (read_model_configs, read_batching_parameters):
        with pytest.raises(InputError, match="up to 1,048,576 bytes"):
            read(path)


def test_models_with_their_policies(file):
    a, b, c = read_model_configs(file(TWO_MODELS))
    assert (a.name, str(a.base_path), a.latest) == ("a", "/models/a", 2)
    assert dict(a.labels) == {"stable": 1, "canary": 2}
    assert b.specific == (3, 5)
    assert not b.all_versions
    assert c.all_versions
    assert ModelConfig("d", "/models/d").versions_to_serve([1, 9, 3]) == [9]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nonsense {", "not a ModelServerConfig text proto"),
        ("[" * 5000, r"not a ModelServerConfig text proto .{,202}$"),
        ("", "no model_config_list"),
        ("model_config_list {}", "no model"),
        ('model_config_list { config { name: "a" } }', "needs a name and a"),
        (f"model_config_list {{ {A} {A} }}", "'a' is there twice"),
        (
            f"model_config_list {{ {A} }}".replace("tensorflow", "torch"),
            "must be tensorflow. Received: 'torch'",
        ),
    ],
)
def test_files_that_say_no_models(file, text, says):
    with pytest.raises(InputError, match=says):
        read_model_configs(file(text))


def test_batching_parameters(file):
    path = file(
        "max_batch_size { value: 32 }\nbatch_timeout_micros { value: 5000 }\n"
        'max_enqueued_batches { value: 4 }\nthread_pool_name { value: "p" }\n'
        "num_batch_threads { value: 3 }\nallowed_batch_sizes: 8\n"
        "allowed_batch_sizes: 32\npad_variable_length_inputs: true\n"
    )
    assert read_batching_parameters(path) == BatchingParameters(32, 5000, 4, 3)
    defaults = BatchingParameters(1000, 0, 10, usable_cores())
    assert read_batching_parameters(file("")) == defaults


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("max_batch_size { value: 0 }", "at least 1. Received: 0"),
        ("batch_timeout_micros { value: -1 }", "at least 0. Received: -1"),
        ("max_batch_size: 3", "not a BatchingParameters text proto"),
    ],
)
def test_batching_files_that_are_refused(file, text, says):
    with pytest.raises(InputError, match=says):
        read_batching_parameters(file(text))
