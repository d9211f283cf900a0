"""The example files of docs/deploy: Kubernetes takes them, Slurm's run."""

import dataclasses
import re

import pytest
import yaml

from keras_transformer.cli.main import build_parser
from keras_transformer.exporting.server_files import FLAGS, batching_config
from keras_transformer.serving.server.config_files import (
    read_batching_parameters,
    read_model_configs,
)
from tests.cli.conftest import ROOT

FOLDER = ROOT / "docs" / "deploy"
MANIFESTS = sorted(FOLDER.glob("*.yaml"))
SCRIPTS = sorted(FOLDER.glob("*.sbatch"))


def load(path):
    documents = list(yaml.safe_load_all(path.read_text("utf-8")))
    assert documents
    assert all(documents)
    return documents


def one(documents, kind):
    (item,) = (item for item in documents if item["kind"] == kind)
    return item


def _commands(text):
    """The words of the program's commands in a file."""
    text = text.replace("\\\n", " ").replace("\n  --", " --")
    for line in re.findall(
        r"keras-transformer ((?:train|translate-shards) .*)", text
    ):
        words = line.partition(";")[0].rstrip(")").split()
        yield [word for word in words if "$" not in word or "run" in word]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_objects_are_kubernetes(path):
    schemas = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate isn't installed"
    )
    for document in load(path):
        schemas.validate(document, schemas.latest_version(), strict=True)


@pytest.mark.parametrize(
    "path", [*MANIFESTS, *SCRIPTS], ids=lambda path: path.name
)
def test_commands_have_options_that_exist(path):
    commands = list(_commands(path.read_text("utf-8")))
    assert commands or path.name == "serving.yaml"
    for words in commands:
        words = [re.sub(r".*[$].*", "1", word) for word in words]
        if words[-1] == "--shard":
            words.append("1")
        build_parser().parse_args(words)


def test_the_server_has_the_configuration_that_an_export_has(tmp_path):
    documents = load(FOLDER / "serving.yaml")
    files = one(documents, "ConfigMap")["data"]
    files["written.config"] = batching_config()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found, written = (
        read_batching_parameters(tmp_path / name)
        for name in ("batching.config", "written.config")
    )
    assert found.num_batch_threads == 2
    assert found == dataclasses.replace(written, num_batch_threads=2)
    assert read_model_configs(tmp_path / "models.config")
    assert "prometheus_config" in files["monitoring.config"]
    deployment = one(documents, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    flags = {flag.replace("=/models/", "=/config/") for flag in FLAGS}
    assert flags <= set(container["args"])
