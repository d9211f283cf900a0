"""Damaged files: each is taken, or refused in one line, at once.

At the full size 500: of prepared data, runs, checkpoints, exports, settings,
files of servers, corpora, and versions that a server meets while it runs.
"""

import json
import shutil
import time
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.cli.main import main
from keras_transformer.config import Config
from keras_transformer.data.prepared import PreparedData
from keras_transformer.errors import InputError
from keras_transformer.exporting.server_files import batching_config
from keras_transformer.importing.run import import_run
from keras_transformer.serving.server.config_files import (
    read_batching_parameters,
    read_model_configs,
)
from keras_transformer.system.files import read_yaml
from keras_transformer.training.run import Run
from tests.attack.damage_grammar import (
    claims,
    corpora,
    damages,
    json_damages,
    yaml_texts,
)
from tests.attack.examples import attacking
from tests.attack.report import HANG, peak_mib
from tests.attack.served import Served
from tests.cli.conftest import DATA_OPTIONS, TRAIN_OPTIONS, read_prepared
from tests.fake_models import MODELS_CONFIG
from tests.importing.conftest import FIXTURES, unpack
from tests.serving.asking import ask

pytestmark = pytest.mark.slow
LONGEST = 1200  # characters of a message: all accepted keys may be listed
# MiB that the tests' process may take at its peak, TensorFlow included.
BOUND = 3072


@pytest.fixture
def attack(figures, request):
    """Counts a test's files, and notes them."""
    with figures.attack(request.node.name.removeprefix("test_")) as attack:
        yield attack
        attack.mib = peak_mib()
        assert attack.mib < BOUND


def taken_or_refused(load):
    """Loads; what is refused is refused in one line."""
    said = ""
    try:
        load()
    except InputError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < LONGEST


def damaged(data, path, content):
    """A file's bytes after some damage."""
    kinds = [damages()]
    if path.suffix == ".json":
        kinds.append(json_damages())
    return data.draw(st.one_of(kinds))(content)


def claiming(data, path, content):
    """A file's bytes that claim another size."""
    return data.draw(claims())(path.name, content)


def attack_files(attack, paths, load, count, change=damaged, most=HANG):
    """Changes files, one at a time, and loads what they belong to."""
    whole = {path: path.read_bytes() for path in paths}
    load()

    @attacking(count)
    @given(st.data(), st.sampled_from(paths))
    def attacked(data, path):
        path.write_bytes(change(data, path, whole[path]))
        try:
            with attack.one(most):
                taken_or_refused(load)
        finally:
            path.write_bytes(whole[path])

    attacked()


def files(folder, *patterns):
    """The files of a folder, in an order."""
    return sorted(
        path
        for pattern in patterns or ("**/*",)
        for path in folder.glob(pattern)
        if path.is_file()
    )


def test_damaged_prepared_data(data, tmp_path, share, attack):
    folder = shutil.copytree(data, tmp_path / "data")

    def load():
        read_prepared(folder)

    attack_files(attack, files(folder), load, share(80))


def test_damaged_runs(run, tmp_path, share, attack):
    folder = shutil.copytree(run, tmp_path / "run")
    whole = files(folder)

    def load():
        loaded = Run.load(folder)
        loaded.history()
        loaded.check_weights("best")
        loaded.load_model("best")

    paths = [path for path in whole if path.suffix != ".npz"]
    attack_files(attack, paths, load, share(80))


KINDS = {
    "base": ("config.json", "generation_config.json", "model.safetensors"),
    "original": ("decoder.yml", "model.npz"),
    "opennmt": ("config.yml", "*.index"),
}


@pytest.mark.parametrize("kind", [*KINDS, "m2m100", "nllb"])
def test_claimed_sizes_of_imports(kind, tmp_path, share, attack):
    folder = tmp_path / kind
    if kind in KINDS:
        unpack(kind, folder)
    else:
        shutil.copytree(FIXTURES / kind, folder)
    patterns = KINDS.get(kind, KINDS["base"])
    paths = files(folder, *(f"**/{pattern}" for pattern in patterns))
    codes = {"m2m100": ("en", "zh"), "nllb": ("eng_Latn", "zho_Hans")}
    source, target = codes.get(kind, ("eng", "zho"))

    def load():
        out = tmp_path / "run"
        shutil.rmtree(out, ignore_errors=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import_run(
                folder, out, source_language=source, target_language=target
            )

    attack_files(attack, paths, load, share(40), claiming, 4 * HANG)


def test_claimed_sizes_of_runs(run, tmp_path, share, attack):
    folder = shutil.copytree(run, tmp_path / "run")

    def load():
        Run.load(folder).load_model("best")

    paths = files(folder, "config.yaml", "manifest.json", "**/tokenizer.json")
    attack_files(attack, paths, load, share(60), claiming, 4 * HANG)


def test_claimed_sizes_of_checkpoints(
    data, run, tmp_path, share, attack, monkeypatch
):
    """A run that goes on: settings, and the checkpoint's own headers."""
    monkeypatch.setattr("keras.Model.fit", lambda *_, **__: None)
    whole = shutil.copytree(run, tmp_path / "whole")
    folder = tmp_path / "run"

    @attacking(share(20))
    @given(claims(), st.sampled_from(["config.yaml", "checkpoint.npz"]))
    def attacked(claim, name):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        content = claim(name, (whole / name).read_bytes())
        (folder / name).write_bytes(content)
        with attack.one(6 * HANG):
            command = ["train", "--data", data, "--out", folder, "--resume"]
            main([*map(str, command), "--epochs=2"])

    attacked()


def test_damaged_checkpoints(data, run, tmp_path, share, attack, capsys):
    """What is damaged is refused; what isn't trains on."""
    path = tmp_path / "run" / "checkpoint.npz"
    whole = (run / "checkpoint.npz").read_bytes()
    command = ["train", "--data", str(data), "--out", str(path.parent)]
    command += [*TRAIN_OPTIONS, "--epochs=2", "--resume"]

    @attacking(share(30))
    @given(damages())
    def attacked(damage):
        shutil.rmtree(path.parent, ignore_errors=True)
        shutil.copytree(run, path.parent)
        path.write_bytes(damage(whole))
        # It may train: that isn't a wait.
        with attack.one(None):
            status = main(command)
        said = capsys.readouterr().err.splitlines()
        if status:
            assert said[-1].startswith("keras-transformer: error: ")

    attacked()


def test_damaged_settings(tmp_path, share, attack):
    path = tmp_path / "config.yaml"

    @attacking(share(100))
    @given(yaml_texts())
    def attacked(text):
        path.write_bytes(text)
        with attack.one():
            taken_or_refused(lambda: Config().updated(read_yaml(path)))

    attacked()


def test_damaged_files_of_servers(toy_base, tmp_path, share, attack):
    models, batching = tmp_path / "models.config", tmp_path / "batching.config"
    models.write_text(MODELS_CONFIG.format(base=toy_base))
    batching.write_text(batching_config())

    def load():
        read_model_configs(models)
        read_batching_parameters(batching)

    attack_files(attack, [models, batching], load, share(60))


def test_damaged_descriptions_of_exports(
    export, tmp_path, share, attack, capsys
):
    base = shutil.copytree(export, tmp_path / "toy")

    def load():
        status = main(["info", str(base / "1")])
        said = capsys.readouterr().err
        assert "Traceback" not in said
        if status:
            raise InputError(said.splitlines()[-1])

    paths = files(base / "1", "**/*.json")
    attack_files(attack, paths, load, share(60))


def test_odd_corpora(tmp_path, share, attack, capsys):
    path, out = tmp_path / "corpus.tsv", tmp_path / "data"
    command = ["prepare", f"--train={path}", f"--out={out}", "--workers=1"]

    @attacking(share(70))
    @given(corpora())
    def attacked(content):
        path.write_bytes(content)
        with attack.one():
            status = main([*command, *DATA_OPTIONS, "--dev=0.1"])
        said = capsys.readouterr().err.splitlines()
        if status:
            assert said[-1].startswith("keras-transformer: error: ")
            assert len(said[-1]) < LONGEST
            assert not out.exists()
        else:
            PreparedData.load(out).verify()
            shutil.rmtree(out)
        assert [p.name for p in tmp_path.iterdir()] == ["corpus.tsv"]

    attacked()


def test_damaged_versions(toy_base, tmp_path, share, attack):
    """A server that runs takes or refuses them, and answers as before."""
    base = tmp_path / "toy"
    base.mkdir()
    shutil.copytree(toy_base / "2", base / "1")
    whole = {path: path.read_bytes() for path in files(base / "1")}
    options = ("--model_base_path", base, "--file_system_poll_wait_seconds=0.1")
    with Served(*options) as served:
        numbers = iter(range(2, 10**6))

        @attacking(share(20))
        @given(damages(), st.sampled_from(list(whole)))
        def attacked(damage, path):
            number = next(numbers)
            folder = tmp_path / f"new-{number}"
            shutil.copytree(base / "1", folder)
            name = path.relative_to(base / "1")
            (folder / name).write_bytes(damage(whole[path]))
            folder.rename(base / str(number))
            with attack.one(6 * HANG):  # It is loaded, and warmed up.
                state = wait_for_state(served, number)
            if state == "END":  # The one before goes on.
                served.check(HANG)
            shutil.rmtree(base / str(number))

        attacked()
        attack.mib = served.memory()


def wait_for_state(served, number):
    """Waits until a version is served or refused: its state."""
    path = f"/v1/models/toy/versions/{number}"
    while True:
        answer = ask(served.host, path)
        if answer.status == 200:
            (status,) = json.loads(answer.body)["model_version_status"]
            if status["state"] in ("AVAILABLE", "END"):
                return status["state"]
        served.check_log()
        assert served.process.poll() is None, "\n".join(served.log)
        time.sleep(0.05)
