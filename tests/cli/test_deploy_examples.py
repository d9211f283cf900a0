"""The example files of docs/deploy: Kubernetes takes them, Slurm's run."""

import dataclasses
import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml

from keras_transformer.cli.main import build_parser, main
from keras_transformer.exporting.server_files import FLAGS, batching_config
from keras_transformer.serving.server.config_files import (
    read_batching_parameters,
    read_model_configs,
)
from tests.cli.conftest import ROOT

FOLDER = ROOT / "docs" / "deploy"
MANIFESTS = sorted(FOLDER.glob("*.yaml"))
SCRIPTS = sorted(FOLDER.glob("*.sbatch"))
# Runs what is submitted at once: the tasks of an array one after the other.
SBATCH = """#!/bin/bash
first=0 last=0 words=()
for word in "$@"; do
  case "$word" in
    --array=*) last=${word##*-}; last=${last%\\%*}; array=1;;
    --*) ;;
    *) words+=("$word");;
  esac
done
export SLURM_JOB_ID=7
for ((task = first; task <= last; task++)); do
  if [ -n "${array-}" ]; then export SLURM_ARRAY_TASK_ID=$task; fi
  bash "${words[@]}" >&2 || exit 1
done
echo 7
"""
SRUN = """#!/bin/bash
while [ "${1#--}" != "$1" ]; do shift; done
exec "$@"
"""


def load(path):
    documents = list(yaml.safe_load_all(path.read_text("utf-8")))
    assert documents
    assert all(documents)
    return documents


def one(documents, kind):
    (item,) = (item for item in documents if item["kind"] == kind)
    return item


def check(documents):
    """What holds among objects, and no schema says.

    Labels against selectors, ports against services, volumes against mounts,
    names, and the standard "restricted" of Pod Security.
    """
    names = [(item["kind"], item["metadata"]["name"]) for item in documents]
    assert len(set(names)) == len(names)
    assert len({item["metadata"].get("namespace") for item in documents}) == 1
    pods = [
        item["spec"]["template"]
        for item in documents
        if item["kind"] in ("Deployment", "Job")
    ]
    assert pods
    ports = {}
    for pod in pods:
        ports |= check_pod(pod["spec"], names)
    for item in documents:
        spec, selector = item.get("spec", {}), {}
        match item["kind"]:
            case "Service":
                selector = spec["selector"]
                for port in spec["ports"]:
                    assert ports[port["targetPort"]] == port["port"]
            case "PodDisruptionBudget" | "Deployment":
                selector = spec["selector"]["matchLabels"]
            case "NetworkPolicy":
                selector = spec["podSelector"]["matchLabels"]
                for rule in spec["ingress"]:
                    assert {port["port"] for port in rule["ports"]} <= {*ports}
            case "HorizontalPodAutoscaler":
                target = spec["scaleTargetRef"]
                assert (target["kind"], target["name"]) in names
            case "RoleBinding":
                for other in (item["roleRef"], *item["subjects"]):
                    assert (other["kind"], other["name"]) in names
        labels = (pod["metadata"]["labels"].items() for pod in pods)
        assert any(selector.items() <= items for items in labels)


def check_pod(spec, names):
    """Asserts that a pod is sound; returns its ports by name."""
    if "serviceAccountName" in spec:
        assert ("ServiceAccount", spec["serviceAccountName"]) in names
    else:
        assert spec["automountServiceAccountToken"] is False
    assert ("Service", spec.get("subdomain")) in [*names, ("Service", None)]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] > 0
    profile = spec["securityContext"]["seccompProfile"]
    assert profile == {"type": "RuntimeDefault"}
    for volume in spec["volumes"]:
        if "configMap" in volume:
            assert ("ConfigMap", volume["configMap"]["name"]) in names
    mounted, ports = set(), {}
    for container in (*spec.get("initContainers", []), *spec["containers"]):
        mounted |= {mount["name"] for mount in container["volumeMounts"]}
        security = container["securityContext"]
        assert security["allowPrivilegeEscalation"] is False
        assert security["readOnlyRootFilesystem"] is True
        assert security["capabilities"] == {"drop": ["ALL"]}
        resources = container["resources"]
        assert {"cpu", "memory"} <= resources["requests"].keys()
        assert resources["limits"]["memory"]
        assert all(isinstance(v["value"], str) for v in container["env"])
        own = {
            p["name"]: p["containerPort"] for p in container.get("ports", [])
        }
        ports |= own
        for name, probe in container.items():
            if name.endswith("Probe"):
                for asked in {"httpGet", "tcpSocket"} & probe.keys():
                    assert probe[asked]["port"] in own
    assert mounted == {volume["name"] for volume in spec["volumes"]}
    return ports


def _commands(text):
    """The words of the program's commands in a file."""
    text = text.replace("\\\n", " ").replace("\n  --", " --")
    for line in re.findall(r"keras-transformer ((?:train|translate) .*)", text):
        words = line.partition(";")[0].rstrip(")").split()
        yield [word for word in words if "$" not in word or "run" in word]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_objects_fit_together_and_are_kubernetes(path):
    schemas = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate isn't installed"
    )
    documents = load(path)
    check(documents)
    for document in documents:
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


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Slurm's programs, and this package's, on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = f'#!/bin/bash\nexec {sys.executable} -m keras_transformer "$@"\n'
    for name, text in (
        ("sbatch", SBATCH),
        ("srun", SRUN),
        ("keras-transformer", program),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_shards_are_translated_and_joined(run, slurm):
    lines = [f"{word} two three" for word in ("one", "two", "four")] * 20
    pathlib.Path("news.en").write_text("\n".join(lines) + "\n")
    words = ["--run", str(run), "--input", "news.en"]
    assert main(["translate", *words, "--output", "whole"]) == 0
    text = (FOLDER / "translation.sbatch").read_text("utf-8")
    for old, new in (
        ("runs/en-zh", str(run)),
        ("--shards 100 --workers 4", "--shards 2 --workers 1"),
        ("--array=0-99%32", "--array=0-1%2"),
    ):
        assert old in text
        text = text.replace(old, new)
    pathlib.Path("bulk.sh").write_text(text)
    subprocess.run(["bash", "bulk.sh"], check=True, timeout=300)
    joined = pathlib.Path("news.zh").read_bytes()
    assert joined == pathlib.Path("whole").read_bytes()
