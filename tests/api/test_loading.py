import re

import pytest

import keras_transformer as kt
from keras_transformer.errors import InputError


@pytest.mark.medium
def test_a_run_may_have_another_search(folder):
    greedy = kt.DecodingConfig(beam_size=1)
    run = kt.load(folder, decoding=greedy)
    assert isinstance(run.translate("aaa bbb"), str)
    with pytest.raises(InputError, match="n_best must be 1 to 1"):
        run.translate("aaa", n_best=2)


@pytest.mark.medium
def test_the_search_may_change_after_a_translation(folder):
    run = kt.load(folder, decoding=kt.DecodingConfig(beam_size=2))
    two = run.translate("aaa bbb", n_best=2)
    run.decoding = kt.DecodingConfig(beam_size=4, max_length=1)
    four = run.translate("aaa bbb", n_best=4)
    assert max(map(len, four)) == 1 < max(map(len, two))


def test_a_translation_that_reaches_its_limit_is_truncated(folder):
    short = kt.load(folder, decoding=kt.DecodingConfig(max_length=1))
    with pytest.warns(
        UserWarning, match="1 truncated texts .number 2.: .*limit"
    ):
        _, found = short.translate(["", "aaa bbb"], details=True)
    assert found.truncated
    assert not found.hypotheses[0].finished


@pytest.mark.parametrize(
    "given", [b"x", bytearray(b"x"), [b"x"], ["a", memoryview(b"x")]]
)
def test_bytes_are_to_be_decoded(folder, given):
    with pytest.raises(InputError, match=r'not bytes.*decode\("utf-8"\)'):
        kt.load(folder).translate(given)


@pytest.mark.medium
def test_markup_may_be_placed_by_the_alignment(folder):
    text = "<b>aaa</b> bbb %s"
    kept, placed = (
        kt.load(folder, markup=markup).translate([text])[0]
        for markup in (None, "project")
    )
    assert "<b>" not in kept
    assert all(placed.count(mark) == 1 for mark in ("<b>", "</b>", "%s"))
    with pytest.raises(InputError, match="markup must be 'keep' or 'project'"):
        kt.load(folder, markup="symbols")


@pytest.mark.medium
def test_a_shortlist_may_be_of_a_generator(folder):
    pairs = [("aaa bbb", "bbb aaa")]
    run = kt.load(folder, shortlist=(pair for pair in pairs))
    first = run.translate("aaa bbb")
    run.decoding = kt.DecodingConfig(beam_size=2)
    run.translate("aaa bbb")
    assert first == kt.load(folder, shortlist=pairs).translate("aaa bbb")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing", "missing: doesn't exist"),
        ("empty", "neither a run nor an export. Accepted: the folder"),
        ("http://127.0.0.1:9/v1/models/en-zh", "127.0.0.1:9"),
        ("ftp://127.0.0.1", "is not a server's URL"),
    ],
)
def test_what_does_not_translate_is_told(tmp_path, name, says):
    (tmp_path / "empty").mkdir()
    path = name if "://" in name else tmp_path / name
    with pytest.raises(InputError, match=says):
        kt.load(path, timeout=1)


@pytest.mark.parametrize(
    ("path", "options", "says"),
    [
        ("a", {"model": "b"}, "names its model"),
        ("a:predict", {"model": "b"}, "names its model"),
        ("b%20a/", {"model": "b"}, "names its model"),
        ("a/labels/x:predict", {"model": "b"}, "names its model"),
        ("a/labels/x%20y", {"label": "x%20y"}, "names its label"),
        ("a/versions/3", {"version": 4}, "names its version. Received: 4"),
        ("a/versions/3", {"version": 3, "timeout": 1}, "127.0.0.1:9"),
        (f"a/versions/3{'9' * 5000}", {"timeout": 1}, "."),
    ],
    ids=lambda value: str(value)[:20],
)
def test_an_address_names_the_model_once(path, options, says):
    with pytest.raises(InputError, match=says):
        kt.load(f"http://127.0.0.1:9/v1/models/{path}", **options)


# What the functions need beside a run.
NEEDED = {"load": (), "evaluate": ([("a", "b")],), "export": ("no",)}


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("load", {"model": "en-zh"}, "model doesn't go with"),
        ("load", {"weights": "last"}, "last.weights.h5"),
        ("load", {"weights": "bset"}, "weights must be one of best, last, av"),
        ("load", {"decoding": {}}, "decoding: takes DecodingConfig or None. "),
        ("evaluate", {"decoding": {}}, "decoding: takes DecodingConfig or N"),
        ("evaluate", {"scoring": "13a"}, "scoring: takes Scoring"),
        ("evaluate", {"weights": "../weights/best"}, "weights must be one of"),
        ("export", {"decoding": kt.Config()}, "decoding: takes DecodingConfig"),
        ("export", {"version": "1"}, "version: takes int"),
        ("export", {"weights": "bset"}, "weights must be one of"),
    ],
)
def test_arguments_of_another_kind_are_told(folder, name, options, says):
    with pytest.raises(InputError, match=re.escape(says)):
        getattr(kt, name)(folder, *NEEDED[name], **options)


def test_settings_of_another_kind_are_told():
    with pytest.raises(InputError, match="resampling: takes Resampling"):
        kt.Scoring(resampling=0)
    with pytest.raises(InputError, match="unknown key source_language"):
        kt.prepare("no", "no", {"source_language": "pl"})


@pytest.mark.medium
def test_many_loaded_runs_in_a_process_are_quiet(folder, caplog):
    for _ in range(6):
        run = kt.load(folder)
        run.translate("one two")
        kt.evaluate(folder, [("one two", "two one")])
    assert "retracing" not in caplog.text
