"""Jobs of Kubernetes and Slurm; the scripts are run with fake programs."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from keras_transformer.deployment.jobs import (
    JobOptions,
    training_manifests,
    training_script,
    translation_manifests,
    translation_script,
)
from tests.deployment.objects import (
    as_jobs,
    check,
    check_jobset,
    load,
    of_kind,
    one,
)

TRAIN = ["train", "--data", "data/a b", "--out", "runs/$x"]
TRANSLATE = ["translate", "--run", "runs/x", "--input", "it's", "--shards=9"]
OPTIONS = {
    "plain": {},
    "all": {
        "cpus": 96,
        "memory": 2**20,
        "gpus": 8,
        "tries": 3,
        "environment": {"A": "$(B) 'c'", "D": ""},
    },
}
ON_KUBERNETES = {
    "image": "registry.example/mt:1",
    "claim": "work",
    "namespace": "mt",
    "user": 501,
}
ON_SLURM = {
    "program": "my venv/bin/keras-transformer",
    "partition": "gpu",
    "account": "mt",
    "time": "1-12:00:00",
}


def options_of(*parts):
    values = {"name": "job", "cpus": 4, "memory": 4096}
    for part in parts:
        values |= part
    return JobOptions(**values)


@pytest.mark.parametrize("more", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("jobset", [False, True], ids=["job", "jobset"])
@pytest.mark.parametrize("hosts", [1, 4])
def test_training_on_kubernetes(more, jobset, hosts, validate):
    options = options_of(ON_KUBERNETES, more, {"jobset": jobset})
    documents = load(
        training_manifests(options, TRAIN, "runs/$x", hosts, "a.yaml")
    )
    check(documents)
    jobs = of_kind(documents, "Job")
    others = [item for item in documents if item["kind"] != "JobSet"]
    if jobset:
        check_jobset(one(documents, "JobSet"))
        jobs = as_jobs(one(documents, "JobSet"))
        others += jobs
    validate(others)
    (job,) = jobs
    spec = job["spec"]
    assert spec["completionMode"] == "Indexed"
    assert spec["completions"] == spec["parallelism"] == hosts
    assert spec["backoffLimit"] == (0 if jobset else options.tries * hosts)
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_hosts_find_each_other():
    options = options_of(ON_KUBERNETES)
    documents = load(training_manifests(options, TRAIN, "r", 4, "a"))
    pod = one(documents, "Job")["spec"]["template"]["spec"]
    service = one(documents, "Service")
    assert pod["subdomain"] == service["metadata"]["name"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    (port,) = pod["containers"][0]["ports"]
    assert port["containerPort"] == service["spec"]["ports"][0]["port"] == 55527
    # What jax/_src/clusters/k8s_cluster.py asks the cluster for.
    assert pod["automountServiceAccountToken"] is True
    allowed = {
        (resource, verb)
        for rule in one(documents, "Role")["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    needed = {("pods", "list"), ("services", "list"), ("jobs", "get")}
    assert needed <= allowed


def test_one_host_asks_nobody():
    options = options_of(ON_KUBERNETES)
    documents = load(training_manifests(options, TRAIN, "r", 1, "a"))
    assert [item["kind"] for item in documents] == ["Job"]


def test_a_jobset_starts_all_hosts_again():
    options = options_of(ON_KUBERNETES, {"jobset": True, "tries": 3})
    documents = load(training_manifests(options, TRAIN, "r", 4, "a"))
    jobset = one(documents, "JobSet")
    assert jobset["spec"]["failurePolicy"] == {"maxRestarts": 3}
    # The controller makes the headless service, of that name.
    assert of_kind(documents, "Service") == []


@pytest.mark.parametrize("more", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("jobset", [False, True], ids=["job", "jobset"])
def test_translation_on_kubernetes(more, jobset, validate):
    options = options_of(ON_KUBERNETES, more, {"jobset": jobset})
    documents = load(translation_manifests(options, TRANSLATE, 9, 4, "a.yaml"))
    check(documents)
    if jobset:
        check_jobset(one(documents, "JobSet"))
        documents = as_jobs(one(documents, "JobSet"))
    validate(documents)
    shards, join = [item["spec"] for item in documents]
    assert shards["completionMode"] == "Indexed"
    assert (shards["completions"], shards["parallelism"]) == (9, 4)
    assert shards["backoffLimitPerIndex"] == options.tries
    assert join.get("suspend", False) is not jobset


def test_the_join_waits_for_the_shards():
    options = options_of(ON_KUBERNETES, {"jobset": True})
    text = translation_manifests(options, TRANSLATE, 9, 4, "a")
    shards, join = one(load(text), "JobSet")["spec"]["replicatedJobs"]
    assert join["dependsOn"] == [{"name": "shards", "status": "Complete"}]
    assert shards["name"] == "shards"
    text = translation_manifests(
        options_of(ON_KUBERNETES), TRANSLATE, 9, 4, "a"
    )
    assert "kubectl wait -n mt --for=condition=complete" in text
    assert 'patch -n mt job/job-join -p \'{"spec":{"suspend":false}}\'' in text


def test_more_at_once_than_shards_are_the_shards():
    options = options_of(ON_KUBERNETES)
    documents = load(translation_manifests(options, TRANSLATE, 2, 32, "a"))
    assert documents[0]["spec"]["parallelism"] == 2


# What runs in the pods


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A `keras-transformer` that writes its words down, a word a line."""
    folder = tmp_path / "bin"
    folder.mkdir()
    said = tmp_path / "said"

    def make(name="keras-transformer", status=0, more=""):
        path = folder / name
        path.write_text(
            f"#!/bin/bash\nprintf '%s\\n' \"$@\" >> '{said}'\n{more}\n"
            f"exit {status}\n"
        )
        path.chmod(0o755)
        return said

    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return make


def run_in_pod(pod, folder, **variables):
    """As Kubernetes starts the container: `$$` is a dollar."""
    (container,) = pod["spec"]["containers"]
    words = [*container["command"], *container["args"]]
    words = [word.replace("$$", "$") for word in words]
    environment = {
        v["name"]: v["value"].replace("$$", "$") for v in container["env"]
    }
    return subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **environment, **variables},
        timeout=20,
    ).returncode


@pytest.mark.parametrize("begun", [False, True])
def test_a_pod_resumes_what_has_begun(tmp_path, program, begun):
    said = program()
    run = "runs/$x 'y'"
    if begun:
        (tmp_path / run).mkdir(parents=True)
        (tmp_path / run / "manifest.json").touch()
    command = ["train", "--data", "a $(b)", "--out", run]
    text = training_manifests(options_of(ON_KUBERNETES), command, run, 2, "a")
    pod = one(load(text), "Job")["spec"]["template"]
    assert run_in_pod(pod, tmp_path) == 0
    assert said.read_text().splitlines() == command + ["--resume"] * begun


def test_pods_translate_their_shard_and_join(tmp_path, program):
    said = program()
    text = translation_manifests(
        options_of(ON_KUBERNETES), TRANSLATE, 9, 4, "a"
    )
    shards, join = [item["spec"]["template"] for item in load(text)]
    assert run_in_pod(shards, tmp_path, JOB_COMPLETION_INDEX="7") == 0
    assert run_in_pod(join, tmp_path) == 0
    assert said.read_text().splitlines() == [
        *TRANSLATE,
        *("--shard", "7"),
        *TRANSLATE,
        "--join",
    ]


def test_variables_are_what_was_given():
    options = options_of(ON_KUBERNETES, OPTIONS["all"])
    text = translation_manifests(options, TRANSLATE, 9, 4, "a")
    for item in load(text):
        (container,) = item["spec"]["template"]["spec"]["containers"]
        variables = {v["name"]: v["value"] for v in container["env"]}
        assert variables["A"] == "$$(B) 'c'"
        assert variables["D"] == ""
        assert container["resources"]["limits"]["nvidia.com/gpu"] == "8"


# Slurm


def scripts(*parts):
    options = options_of(*parts)
    return {
        "training": training_script(options, TRAIN, "runs/$x", 4, "a.sh"),
        "translation": translation_script(options, TRANSLATE, 9, 4, "a.sh"),
    }


@pytest.fixture(params=["training", "translation"])
def kind(request):
    return request.param


@pytest.mark.parametrize("more", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("slurm", [{}, ON_SLURM], ids=["few", "many"])
def test_scripts_are_well_formed(tmp_path, kind, more, slurm):
    path = tmp_path / "job.sh"
    path.write_text(scripts(more, slurm)[kind])
    subprocess.run(["bash", "-n", path], check=True, timeout=20)
    shellcheck = shutil.which(
        "shellcheck", path=f"{pathlib.Path(sys.executable).parent}:{os.defpath}"
    )
    if shellcheck is None:
        pytest.skip("shellcheck isn't installed")
    # What stands in single quotes isn't meant to be expanded.
    done = subprocess.run(
        [shellcheck, "--exclude=SC2016", path],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout


def directives(text):
    """The options of sbatch, which it reads up to the first command."""
    head = text.partition("\nset -eu\n")[0]
    assert "#SBATCH" not in text[len(head) :]
    found = {}
    for line in head.splitlines():
        if line.startswith("#SBATCH "):
            name, _, value = line.removeprefix("#SBATCH --").partition("=")
            found[name] = value
    return found


def test_options_of_slurm(kind):
    found = directives(scripts(OPTIONS["all"], ON_SLURM)[kind])
    assert found["nodes"] == ("4" if kind == "training" else "1")
    expected = {
        "job-name": "job",
        "ntasks-per-node": "1",
        "cpus-per-task": "96",
        "mem": "1048576M",
        "gpus-per-node": "8",
        "partition": "gpu",
        "account": "mt",
        "time": "1-12:00:00",
        "requeue": "",
        "open-mode": "append",
    }
    assert found.items() >= expected.items()
    assert found.get("signal") == ("TERM@120" if kind == "training" else None)
    few = directives(scripts()[kind])
    assert not {"partition", "account", "time", "gpus-per-node"} & few.keys()


SRUN = 'while [ "${1#--}" != "$1" ]; do shift; done\nexec "$@"'


def run_script(tmp_path, text, *words, **variables):
    path = tmp_path / "job.sh"
    path.write_text(text)
    return subprocess.run(
        ["bash", path, *words],
        cwd=tmp_path,
        env={**os.environ, "SLURM_JOB_ID": "77", **variables},
        timeout=20,
    ).returncode


@pytest.mark.parametrize("begun", [False, True])
def test_slurm_resumes_what_has_begun(tmp_path, program, begun):
    said = program()
    (said.parent / "bin" / "srun").write_text(f"#!/bin/bash\n{SRUN}\n")
    (said.parent / "bin" / "srun").chmod(0o755)
    if begun:
        (tmp_path / "runs/$x").mkdir(parents=True)
        (tmp_path / "runs/$x/manifest.json").touch()
    text = scripts()["training"]
    assert run_script(tmp_path, text) == 0
    assert said.read_text().splitlines() == TRAIN + ["--resume"] * begun


@pytest.mark.parametrize("progress", [False, True])
def test_slurm_goes_on_as_long_as_there_is_progress(
    tmp_path, program, progress
):
    """A checkpoint of this try, and not of an earlier one."""
    checkpoint = tmp_path / "runs/$x/checkpoint.npz"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    os.utime(checkpoint, (0, 0))
    program("srun", 1, more=f"touch '{checkpoint}'" if progress else "")
    said = program("scontrol")
    assert run_script(tmp_path, scripts()["training"]) == 1
    requeued = said.read_text().endswith("requeue\n77\n")
    assert requeued == progress


def test_slurm_translates_shards_and_joins_them_afterwards(tmp_path, program):
    said = program("sbatch", more='echo "1234;cluster"')
    text = scripts()["translation"]
    assert run_script(tmp_path, text) == 0
    words = said.read_text().splitlines()
    path = str(tmp_path / "job.sh")
    assert words == [
        *("--parsable", "--array=0-8%4", path, "shard"),
        "--dependency=afterok:1234",
        *("--kill-on-invalid-dep=yes", path, "join"),
    ]
    said.write_text("")
    program()
    program("srun", more='shift\nexec "$@"')
    assert run_script(tmp_path, text, "shard", SLURM_ARRAY_TASK_ID="7") == 0
    assert run_script(tmp_path, text, "join") == 0
    words = said.read_text().splitlines()
    assert words.count("--shard") == 2
    assert words.count("--join") == 2
    assert words[-len(TRANSLATE) - 1 :] == [*TRANSLATE, "--join"]
    assert run_script(tmp_path, text, "else") == 2


@pytest.mark.parametrize(("restarts", "again"), [("2", True), ("3", False)])
def test_slurm_tries_a_failed_shard_again(tmp_path, program, restarts, again):
    program("srun", 1)
    said = program("scontrol")
    text = scripts({"tries": 3})["translation"]
    status = run_script(
        tmp_path,
        text,
        "shard",
        SLURM_ARRAY_TASK_ID="7",
        SLURM_RESTART_COUNT=restarts,
    )
    assert status == 1
    assert said.read_text().endswith("requeue\n77\n") == again


def test_variables_of_slurm(tmp_path, program):
    program("srun", more='printf "%s" "$A" > A')
    run_script(tmp_path, scripts(OPTIONS["all"])["translation"], "join")
    assert (tmp_path / "A").read_text() == "$(B) 'c'"
