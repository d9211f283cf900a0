"""`deploy` as a user meets it, hostile values included."""

import shlex
import subprocess

import pytest
import yaml

from keras_transformer.cli.main import build_parser, main
from tests.deployment.conftest import add
from tests.deployment.objects import check, load, of_kind, one

TRAINING = [
    *("deploy", "training", "--name", "en-zh"),
    *("--data", "data/en-zh", "--run", "runs/en-zh"),
]
TRANSLATION = [
    *("deploy", "translation", "--name", "news", "--run", "runs/en-zh"),
    *("--input", "big.txt", "--output", "big.zh", "--shards", "9"),
]
KUBERNETES = ["--format", "kubernetes", "--image", "mt:1", "--claim", "work"]
SLURM = ["--format", "slurm"]
HOSTILE = ["a\nb", "a\x00", "a\u2028b"]
QUOTED = ["$(touch x)", "`touch x`", "a'b\"c", "a: b #c", "{{ name }}", "*x"]


@pytest.fixture
def serving(tmp_path):
    base = add(tmp_path / "models" / "en-zh", "1")
    words = ["deploy", "serving", "--format", "kubernetes"]
    return [*words, "--saved-model", str(base)]


@pytest.fixture
def printed(capsys):
    def run(*words):
        assert main(list(map(str, words))) == 0, capsys.readouterr().err
        said = capsys.readouterr()
        assert not said.err
        return said.out

    return run


def test_a_service_of_an_export(serving, printed):
    documents = load(printed(*serving, "--namespace", "mt", "--cpus", "3"))
    check(documents)
    assert one(documents, "Deployment")["metadata"]["namespace"] == "mt"


def test_every_option_of_serving(serving, printed):
    documents = load(
        printed(
            *serving,
            *("--name", "mt", "--image", "mt:1", "--claim", "models/a b"),
            *("--cpus", "3", "--memory", "1.5", "--rate", "7"),
            *("--min-replicas", "3", "--max-replicas", "4"),
            *("--start-seconds", "60", "--service-account", "sa"),
            *("--allow-namespace", "web", "--allow-namespace", "metrics"),
            *("--env", "A=b c"),
        )
    )
    text = yaml.safe_dump_all(documents)
    for part in (
        "image: mt:1",
        "claimName: models",
        "subPath: a b",
        "memory: 1536Mi",
        "averageValue: '7'",
        "minReplicas: 3",
        "maxReplicas: 4",
        "failureThreshold: 12",
        "serviceAccountName: sa",
        "metadata.name: metrics",
        "value: b c",
    ):
        assert part in text


@pytest.mark.parametrize("target", [TRAINING, TRANSLATION])
def test_jobs_of_kubernetes(target, printed):
    documents = load(printed(*target, *KUBERNETES, "--namespace", "mt"))
    check(documents)
    (jobset,) = of_kind(
        load(printed(*target, *KUBERNETES, "--jobset")), "JobSet"
    )
    assert jobset["metadata"]["name"] == target[3]


@pytest.mark.parametrize("target", [TRAINING, TRANSLATION])
def test_scripts_of_slurm(target, printed):
    text = printed(*target, *SLURM, "--program", "venv/keras-transformer")
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    assert text.startswith("#!/bin/bash\n")
    assert "venv/keras-transformer" in text


def command_of(text):
    """The words of `keras-transformer` in a script."""
    lines = text.replace("\\\n", " ").splitlines()
    (line,) = [line for line in lines if " train " in line]
    words = shlex.split(line.rstrip(";").removesuffix("; then"))
    return words[words.index("train") :]


def test_hosts_and_more_options_of_train(printed):
    options = ["--", "--preset", "base", "--set=training.epochs=3"]
    words = command_of(printed(*TRAINING, *SLURM, "--hosts", "4", *options))
    assert words[:-1] == [
        *("train", "--data", "data/en-zh", "--out", "runs/en-zh"),
        *("--backend", "jax", "--hosts", "--preset", "base"),
        "--set=training.epochs=3",
    ]
    assert "--hosts" not in command_of(printed(*TRAINING, *SLURM, *options))


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        (["--preste", "base"], "unrecognized arguments: --preste"),
        (["--epochs", "many"], "invalid int value"),
        (["--out", "elsewhere"], "--out behind -- is what"),
        (["--data=elsewhere"], "--data behind -- is what"),
        (["--resume"], "--resume behind -- is what"),
        (["--preset", "a\nb"], "takes a text of one line"),
    ],
)
def test_options_of_train_are_checked_before_the_job_runs(refuses, rest, says):
    refuses(*TRAINING, *SLURM, "--", *rest, says=[says])


def test_file_in_a_folder_is_not_overwritten(
    serving, tmp_path, capsys, refuses
):
    for target, name in (
        (serving, "en-zh-serving.yaml"),
        ([*TRAINING, *KUBERNETES], "en-zh.yaml"),
        ([*TRAINING, *SLURM], "en-zh.sh"),
    ):
        out = tmp_path / "out" / "more"
        assert main([*target, "--out", str(out)]) == 0
        said = capsys.readouterr()
        assert said.err == f"wrote {out / name}\n"
        assert not said.out
        (out / name).write_text("mine")
        refuses(*target, "--out", out, says=["not overwritten"])
        assert (out / name).read_text() == "mine"


@pytest.mark.parametrize("format", [KUBERNETES, SLURM], ids=["k8s", "slurm"])
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
@pytest.mark.parametrize("option", ["--data", "--run"])
def test_what_no_quotes_can_hold_is_refused(refuses, format, option, text):
    refuses(*TRAINING, *format, option, text, says=[f"{option} takes"])


@pytest.mark.parametrize("text", QUOTED)
def test_what_quotes_can_hold_is_quoted(printed, text):
    words = command_of(printed(*TRAINING, *SLURM, "--data", text))
    assert words[2] == text
    (job,) = load(printed(*TRAINING, *KUBERNETES, "--data", text))
    (container,) = job["spec"]["template"]["spec"]["containers"]
    (script,) = container["args"]
    words = shlex.split(script.replace("$$", "$").splitlines()[-1])
    assert words[2:5] == ["train", "--data", text]


@pytest.mark.parametrize(
    "option",
    [
        "--name",
        "--namespace",
        "--image",
        "--claim",
        "--bucket",
        "--service-account",
        "--allow-namespace",
    ],
)
@pytest.mark.parametrize("text", [*HOSTILE[:2], *QUOTED])
def test_names_that_need_quotes_are_refused(serving, refuses, option, text):
    refuses(*serving, option, text, says=[f"{option} takes"])


@pytest.mark.parametrize("option", ["--partition", "--account", "--time"])
@pytest.mark.parametrize("text", [*HOSTILE[:2], *QUOTED, "1 #SBATCH"])
def test_options_of_slurm_that_need_quotes_are_refused(refuses, option, text):
    refuses(*TRAINING, *SLURM, option, text, says=[f"{option} takes"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--format", "kubernetes"], "takes --image, with this package, and"),
        ([*KUBERNETES, "--time", "3"], "--time is of --format slurm only"),
        ([*SLURM, "--jobset"], "--jobset is of --format kubernetes only"),
        ([*SLURM, "--hosts", "0"], "--hosts takes 1 or more"),
        ([*SLURM, "--memory", "nan"], "--memory takes GiB"),
        ([*SLURM, "--cpus", "-1"], "--cpus takes 1 or more"),
        ([*SLURM, "--env", "A"], "--env takes NAME=VALUE"),
        ([*KUBERNETES, "--user", "0"], "--user takes 1 or more"),
        ([*KUBERNETES, "--data", "/data"], "a path inside the volume"),
        ([*KUBERNETES, "--data", "//data"], "a path inside the volume"),
        ([*KUBERNETES, "--run", "a/../../b"], "a path inside the volume"),
    ],
)
def test_what_is_refused(refuses, words, says):
    refuses(*TRAINING, *words, says=[says])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--rate", "0"], "--rate takes more than 0"),
        (["--rate", "nan"], "--rate takes more than 0"),
        (["--max-replicas", "1"], "the most no fewer"),
        (["--server", "embedded"], "Accepted: --image"),
        (["--claim", "a/../b"], "--claim takes a path inside"),
        (["--claim", "/models"], "--claim takes the name of a Persistent"),
        (["--start-seconds", "0"], "--start-seconds takes 1 or more"),
        (["--saved-model", "nowhere"], "nowhere: no version"),
    ],
)
def test_what_is_refused_of_serving(serving, refuses, words, says):
    refuses(*serving, *words, says=[says])


def test_a_bad_format_and_a_bad_target_are_usage(capsys):
    for words in (
        [*TRAINING, "--format", "nomad"],
        ["deploy", "cluster"],
        ["deploy", "serving", "--format", "slurm", "--saved-model", "x"],
    ):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 2
        assert "Traceback" not in capsys.readouterr().err


def test_examples_of_the_help_are_accepted():
    from keras_transformer.cli import deploy

    text = deploy.__doc__.partition("example:\n")[2]
    commands = text.replace("\\\n", " ").splitlines()
    assert len(commands) == 3
    for command in commands:
        words = shlex.split(command.partition("|")[0])
        assert build_parser().parse_args(words[1:]).command == "deploy"


def shell_words(text):
    lines = text.replace("\\\n", " ").splitlines()
    (line,) = [line for line in lines if line.startswith("translate=(")]
    return shlex.split(line.removeprefix("translate=(").removesuffix(")"))


@pytest.mark.parametrize(
    ("more", "workers"),
    [
        (["--cpus", "3"], ["--workers", "3"]),
        (["--gpus", "1"], []),
        (["--", "--workers", "5"], ["--workers", "5"]),
    ],
)
def test_translation_has_workers_for_the_processors_asked_for(
    printed, more, workers
):
    words = shell_words(printed(*TRANSLATION, *SLURM, *more))
    assert words == [
        *("keras-transformer", "translate", "--run", "runs/en-zh"),
        *("--input", "big.txt", "--output", "big.zh", "--shards", "9"),
        *workers,
    ]


@pytest.mark.parametrize("more", [["--shard", "8"], ["--join"]])
def test_what_the_jobs_run_is_accepted(printed, more):
    from keras_transformer.cli.bulk_translation import check_shard_options

    words = shell_words(printed(*TRANSLATION, *SLURM))
    arguments = build_parser().parse_args([*words[1:], *more])
    check_shard_options(arguments)
    assert arguments.shards == 9


@pytest.mark.parametrize("hosts", ["1", "4"])
def test_what_training_runs_is_accepted(printed, hosts):
    from keras_transformer.cli.hosts import meeting

    rest = ["--", "--preset", "base"]
    words = command_of(printed(*TRAINING, *SLURM, "--hosts", hosts, *rest))
    arguments = build_parser().parse_args(words[:-1])
    assert arguments.backend == "jax"
    assert arguments.preset == "base"
    assert (meeting(arguments, "jax") is None) == (hosts == "1")
