"""Services on Kubernetes: what an operator would look at."""

import http.server
import json
import shutil
import subprocess
import threading

import pytest

from keras_transformer.cli.main import build_parser
from keras_transformer.deployment.serving import (
    EMBEDDED,
    ServingOptions,
    memory_needed,
    serving_manifests,
)
from keras_transformer.errors import InputError
from keras_transformer.export.registry.labels import set_label
from tests.deployment.conftest import add
from tests.deployment.objects import check, container_of, load, one, pod_of
from tests.export.serving_messages import parse

VARIANTS = {
    "image": {},
    "claim": {"claim": "models"},
    "folder": {"claim": "models", "folder": "a b/$(c)"},
    "gs": {"bucket": "gs://models/mt"},
    "s3": {"bucket": "s3://models/mt", "service_account": "reader"},
    "embedded": {"server": EMBEDDED, "image": "registry.example/mt:1"},
    "all": {
        "name": "mt",
        "namespace": "translation",
        "cpus": 4,
        "memory": 4096,
        "replicas": (1, 3),
        "rate": 12.5,
        "start_seconds": 62,
        "callers": ("web", "monitoring"),
        "environment": {"A": "$(B)", "C": 'quoted "and" {{ more }}'},
    },
}


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("models", [1, 2])
def test_objects_fit_together_and_are_kubernetes(
    base, manifests, options, models, validate
):
    if models > 1:
        add(base.parent / "de-en", "3")
    documents = manifests(**options)
    check(documents)
    validate(documents)
    assert [item["kind"] for item in documents] == [
        "ConfigMap",
        "Deployment",
        "Service",
        "Service",
        "HorizontalPodAutoscaler",
        "PodDisruptionBudget",
        "NetworkPolicy",
    ]


def test_names_and_namespace(manifests):
    live = {"claim": "models"}
    documents = manifests(name="mt", namespace="translation", **live)
    names = {item["metadata"]["name"] for item in documents}
    assert names == {"mt", "mt-grpc"}
    spaces = {item["metadata"]["namespace"] for item in documents}
    assert spaces == {"translation"}
    names = {item["metadata"]["name"] for item in manifests(**live)}
    assert names == {"en-zh-2-serving", "en-zh-2-serving-grpc"}


@pytest.mark.parametrize("name", ["007", "_", "x" * 90, "Ä", "a--"])
def test_any_model_has_a_service_with_a_name(tmp_path, name, validate):
    base = add(tmp_path / name, "1")
    documents, said = None, ""
    try:
        documents = load(serving_manifests(base, ServingOptions()))
    except InputError as error:
        said = str(error)
    if documents is None:
        assert "can't be a model's name" in said
        return
    validate(documents)
    for item in documents:
        # With "-grpc", or a digest.
        longest = 49 if item["kind"] == "ConfigMap" else 45
        assert len(item["metadata"]["name"]) <= longest


def test_grpc_spreads_by_a_headless_service(manifests):
    _, service, headless = [
        item for item in manifests() if item["kind"] in ("Service", "ConfigMap")
    ]
    assert "clusterIP" not in service["spec"]
    assert headless["spec"]["clusterIP"] == "None"
    assert [port["port"] for port in headless["spec"]["ports"]] == [8500]
    (ages,) = [
        argument.partition("=")[2]
        for argument in container_of(manifests())["args"]
        if argument.startswith("--grpc_channel_arguments=")
    ]
    assert ages == (
        "grpc.max_connection_age_ms=300000,"
        "grpc.max_connection_age_grace_ms=30000"
    )


def test_a_server_that_ignores_the_signal_has_the_time_of_a_request(manifests):
    documents = manifests()
    stop = container_of(documents)["lifecycle"]["preStop"]["exec"]["command"]
    assert stop == ["sleep", "40"]
    assert pod_of(documents)["terminationGracePeriodSeconds"] == 45
    assert "--rest_api_timeout_in_ms=30000" in container_of(documents)["args"]


def test_a_server_that_honours_it_drains(manifests):
    documents = manifests(server=EMBEDDED, image="mt:1")
    stop = container_of(documents)["lifecycle"]["preStop"]["exec"]["command"]
    assert stop == ["sleep", "10"]
    grace = pod_of(documents)["terminationGracePeriodSeconds"]
    container = container_of(documents)
    options = build_parser().parse_args(
        [*container["command"][1:], *container["args"]]
    )
    assert grace > 10 + options.drain_seconds
    assert options.host == "0.0.0.0"
    assert options.enable_batching
    assert container["command"][0] == "keras-transformer"


@pytest.mark.parametrize("cpus", [1, 6])
def test_threads_fit_the_request(manifests, cpus):
    documents = manifests(cpus=cpus)
    container = container_of(documents)
    assert container["resources"]["requests"]["cpu"] == str(cpus)
    assert "cpu" not in container["resources"]["limits"]
    assert "--tensorflow_intra_op_parallelism=1" in container["args"]
    assert f"--tensorflow_inter_op_parallelism={cpus}" in container["args"]
    text = one(documents, "ConfigMap")["data"]["batching.config"]
    parameters = parse("BatchingParameters", text)
    assert parameters.num_batch_threads.value == cpus


def test_versions_in_s3_are_copied_before_the_server_starts(base, manifests):
    set_label(base, "stable", 1)
    set_label(base, "canary", 7)
    documents = manifests(bucket="s3://a/b")
    (copy,) = pod_of(documents)["initContainers"]
    assert copy["args"][:4] == ["s3", "sync", "s3://a/b", "/models"]
    included = copy["args"][copy["args"].index("--include") :]
    assert included[1::2] == ["en_ZH.2/1/*", "en_ZH.2/007/*"]


def test_volume_is_read_only(manifests):
    pod = pod_of(manifests(claim="models", folder="a b"))
    (volume,) = [v for v in pod["volumes"] if v["name"] == "models"]
    assert volume["persistentVolumeClaim"]["readOnly"] is True
    mounts = pod["containers"][0]["volumeMounts"]
    (mount,) = [m for m in mounts if m["name"] == "models"]
    assert mount["readOnly"] is True
    assert mount["subPath"] == "a b"


def test_one_model_is_probed_by_what_only_a_loaded_one_answers(manifests):
    container = container_of(manifests())
    for probe in ("startupProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {
            "path": "/v1/models/en_ZH.2/metadata",
            "port": "rest",
        }
    assert container["livenessProbe"]["tcpSocket"] == {"port": "rest"}
    assert "httpGet" not in container["livenessProbe"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("states", "ready"),
    [
        ({"de-en": "AVAILABLE", "en_ZH.2": "AVAILABLE"}, True),
        ({"de-en": "LOADING", "en_ZH.2": "AVAILABLE"}, False),
        ({"de-en": "AVAILABLE", "en_ZH.2": "LOADING"}, False),
        ({}, False),
    ],
)
def test_several_models_are_all_asked(base, manifests, tmp_path, states, ready):
    add(base.parent / "de-en", "3")
    documents = manifests()
    container = container_of(documents)
    for probe in ("startupProbe", "readinessProbe"):
        command = container[probe]["exec"]["command"]
        assert command == ["bash", "/config/ready.sh"]
    script = tmp_path / "ready.sh"
    text = one(documents, "ConfigMap")["data"]["ready.sh"]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            model = self.path.removeprefix("/v1/models/")
            self.send_response(200 if model in states else 404)
            self.end_headers()
            body = {"model_version_status": [{"state": states.get(model)}]}
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *arguments):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        script.write_text(text.replace("8501", str(server.server_port)))
        status = subprocess.run(["bash", script], timeout=20).returncode
        server.shutdown()
    assert (status == 0) == ready
    if not states:
        # Nobody listens any more.
        done = subprocess.run(
            ["bash", script], timeout=20, stderr=subprocess.DEVNULL
        )
        assert done.returncode


def test_time_to_start(manifests):
    documents = manifests(start_seconds=1801)
    probe = container_of(documents)["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 1801
    deployment = one(documents, "Deployment")["spec"]
    assert deployment["progressDeadlineSeconds"] > 1801


def test_maintenance_machines_and_storage(manifests):
    documents = manifests()
    assert one(documents, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    spread = pod_of(documents)["topologySpreadConstraints"]
    assert [constraint["topologyKey"] for constraint in spread] == [
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
    ]
    resources = container_of(documents)["resources"]
    for kind in ("requests", "limits"):
        assert resources[kind]["ephemeral-storage"]


def test_who_may_ask(manifests):
    policy = one(manifests(callers=("web", "metrics")), "NetworkPolicy")["spec"]
    assert policy["egress"] == []
    own, *others = policy["ingress"][0]["from"]
    assert own == {"podSelector": {}}
    names = [
        other["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
        for other in others
    ]
    assert names == ["web", "metrics"]
    policy = one(manifests(bucket="gs://a"), "NetworkPolicy")["spec"]
    ports = [port["port"] for port in policy["egress"][0]["ports"]]
    assert 443 in ports
    assert 53 in ports


def test_autoscaler_measures_processors_or_requests(manifests):
    scaler = one(manifests(), "HorizontalPodAutoscaler")["spec"]
    (metric,) = scaler["metrics"]
    assert metric["resource"]["name"] == "cpu"
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (2, 10)
    # A number there would undo the autoscaler's at each `apply`.
    assert "replicas" not in one(manifests(), "Deployment")["spec"]
    scaler = one(manifests(rate=12.5), "HorizontalPodAutoscaler")["spec"]
    (metric,) = scaler["metrics"]
    assert metric["pods"] == {
        "metric": {"name": "translation_requests_per_second"},
        "target": {"type": "AverageValue", "averageValue": "12.5"},
    }


def test_memory_follows_the_weights(base, manifests):
    path = base / "007" / "variables" / "variables.data-00000-of-00001"
    with path.open("wb") as file:
        file.truncate(300 * 2**20)
    resources = container_of(manifests())["resources"]
    assert resources["limits"]["memory"] == resources["requests"]["memory"]
    needed = memory_needed([300 * 2**20], 2)
    assert resources["requests"]["memory"] == f"{needed}Mi"
    assert memory_needed([600 * 2**20], 2) > needed
    assert memory_needed([300 * 2**20], 4) > needed
    assert memory_needed([300 * 2**20] * 2, 2) > needed
    documents = manifests(server=EMBEDDED, image="mt:1")
    resources = container_of(documents)["resources"]
    assert resources["limits"]["memory"] == f"{needed + 768}Mi"
    documents = manifests(memory=777)
    assert container_of(documents)["resources"]["limits"]["memory"] == "777Mi"


def test_variables_are_what_was_given(manifests):
    pod = pod_of(manifests(**VARIANTS["all"]))
    variables = {v["name"]: v["value"] for v in pod["containers"][0]["env"]}
    assert variables["A"] == "$$(B)"  # As Kubernetes has a dollar.
    assert variables["C"] == 'quoted "and" {{ more }}'


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"replicas": (3, 2)}, "the most no fewer. Received: 3 and 2"),
        ({"replicas": (0, 2)}, "1 or more"),
        ({"claim": "a", "bucket": "gs://b"}, "not both"),
        ({"server": EMBEDDED}, "Accepted: --image"),
        (
            {"server": EMBEDDED, "image": "a", "bucket": "gs://b"},
            "reads no gs://",
        ),
    ],
)
def test_what_does_not_go_together(options, says):
    with pytest.raises(InputError, match=says):
        ServingOptions(**options)
