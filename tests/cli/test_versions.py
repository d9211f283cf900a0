"""`versions` as a user meets it."""

import json

import pytest

from keras_transformer.exporting.server_files import write_server_files
from tests.processes import run_python
from tests.toy_runs import write_versions


@pytest.fixture
def base(tmp_path):
    return write_versions(tmp_path / "models" / "toy", *range(1, 6))


@pytest.fixture
def versions(base, succeed):
    """Runs an action; returns its result by JSON."""
    return lambda *words: json.loads(
        succeed("versions", base, "--json", *words).out
    )


def _labels(result):
    return {v["version"]: v["labels"] for v in result["versions"]}


def test_list_shows_versions_labels_and_what_is_served(base, succeed):
    succeed("versions", base, "label", "stable", "2")
    lines = succeed("versions", base, "list").out.splitlines()
    rows = [line.split() for line in lines]
    assert [row[0] for row in rows] == ["1", "2", "3", "4", "5"]
    assert rows[1][1] == "served"
    assert rows[1][-1] == "stable"
    assert rows[4][1:3] == ["not", "served"]


def test_labels_move_back_and_go(versions):
    assert _labels(versions("label", "stable", "2"))[2] == ["stable"]
    assert _labels(versions("label", "stable", "4"))[4] == ["stable"]
    assert _labels(versions("label", "canary", "5"))[5] == ["canary"]
    assert _labels(versions("rollback"))[2] == ["stable"]
    found = _labels(versions("unlabel", "canary"))
    assert found == {1: [], 2: ["stable"], 3: [], 4: [], 5: []}


def test_prune_says_what_it_removed(versions, base):
    write_server_files(base)
    config = base.parent / "models.config"
    assert "stable" not in config.read_text()
    versions("label", "stable", "1")
    assert 'key: "stable" value: 1' in config.read_text()
    with config.open("a") as file:
        file.write("# edited\n")
    found = versions("prune", "--keep", "2", "--dry-run")
    assert found["would_remove"] == [2, 3]
    assert len(found["versions"]) == 5
    assert config.read_text().endswith("# edited\n")
    found = versions("prune", "--keep", "2")
    assert not config.read_text().endswith("# edited\n")
    assert found["removed"] == [2, 3]
    assert [v["version"] for v in found["versions"]] == [1, 4, 5]


@pytest.mark.parametrize("created", ["\x1b[2J", [1], {"a": 1}, 10**30, None])
def test_a_terminal_obeys_no_description(base, created, succeed):
    path = base / "3" / "assets.extra" / "keras_transformer.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"created": created}))
    said = succeed("versions", base, "list").out
    shown = r"\x1b[2J" if isinstance(created, str) else str(created)
    assert f"  {shown}  " in said.replace("no date", "None")


def test_a_canary_leaves_the_stable_version_its_requests(
    base, versions, refuses, monkeypatch, tmp_path
):
    from keras_transformer.exporting.registry import releases

    monkeypatch.setattr(releases, "check_in_fresh_process", lambda *_: ())
    monkeypatch.setattr(releases, "require_passed", lambda *_: None)
    source = write_versions(tmp_path / "elsewhere", 1)
    publish = ["publish", str(source / "1"), "--label", "canary"]
    refuses("versions", base, *publish, says=[f"{base} label stable 5"])
    assert not (base / "6").exists()
    versions("label", "stable", "5")
    result = versions(*publish)
    assert _labels(result)[6] == ["canary"]
    served = [v["version"] for v in result["versions"] if v["served"]]
    assert served == [5, 6]


@pytest.mark.parametrize("name", ["\udcff", 'a"', "a\nb", "", "1", "é" * 9])
def test_labels_that_are_none_are_not_believed(base, refuses, name):
    """They would reach models.config, and be printed."""
    for versions, earlier in (({name: 1}, {}), ({"stable": 1}, {name: [1]})):
        values = {"versions": versions, "earlier": earlier}
        (base / "labels.json").write_text(json.dumps(values))
        for words in (["list"], ["label", "stable", "2"], ["prune"]):
            refuses("versions", base, *words, says=["labels.json: damaged"])


def test_bad_input_is_named(base, refuses):
    for action, *says in (
        ("label stable 9", "no version 9", "1, 2, 3, 4, 5"),
        ("label no/label 1", "'no/label'", "a letter"),
        ("publish no/such --label -", "a letter"),
        ("publish no/such", "no/such doesn't exist"),
        ("rollback canary", "no label 'canary'"),
        ("unlabel canary", "no label 'canary'"),
        ("prune --keep 0", "Received: 0"),
    ):
        refuses("versions", base, *action.split(), says=says)


def test_labels_need_no_tensorflow(base):
    code = (
        "import sys; from keras_transformer.cli.main import main; "
        f"assert main(['versions', {str(base)!r}, 'label', 'a', '1']) == 0; "
        "sys.exit('tensorflow' in sys.modules)"
    )
    run_python("-c", code)
