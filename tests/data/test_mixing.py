import numpy as np
import pytest

from keras_transformer.data.corpus import CorpusFile
from keras_transformer.data.mixing import Mixture, WeightedCorpus
from keras_transformer.errors import InputError


@pytest.mark.parametrize(
    ("spec", "file", "weight", "tag"),
    [
        ("a.tsv", "a.tsv", 1, None),
        ("a.tsv*0.3", "a.tsv", 0.3, None),
        ("a.tsv#BT", "a.tsv", 1, "<BT>"),
        ("a.tsv#<BT>", "a.tsv", 1, "<BT>"),
        ("a.tsv*2.5#2de", "a.tsv", 2.5, "<2de>"),
        ("a.en,a.de*3#x", "a.en,a.de", 3, "<x>"),
        ("gs://b/a.tsv*1e-2", "gs://b/a.tsv", 0.01, None),
        ("a*2*3", "a*2", 3, None),
        ("a#b#c", "a#b", 1, "<c>"),
        ("a*b.tsv", "a*b.tsv", 1, None),
        ("a#b.tsv", "a#b.tsv", 1, None),
    ],
)
def test_spec_names_file_weight_and_tag(spec, file, weight, tag):
    corpus = WeightedCorpus.parse(spec)
    assert corpus == WeightedCorpus(CorpusFile.parse(file), weight, tag)
    assert WeightedCorpus.parse(str(corpus)) == corpus


def test_what_exists_under_the_whole_name_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a*2", "a#b", "c*2#d", "e*2", "e.en*2", "e.de*2"):
        (tmp_path / name).write_text("x\ty\n")
    whole = ("a*2", "a#b", "c*2#d", "e.en*2,e.de*2")
    named = {spec: (spec, None) for spec in whole}
    named |= {"e*2#t": ("e*2", "<t>"), "a*2*1": ("a*2", None)}
    for spec, (file, tag) in named.items():
        corpus = WeightedCorpus.parse(spec)
        assert (str(corpus.file), corpus.weight, corpus.tag) == (file, 1, tag)


@pytest.mark.parametrize("weight", ["0", "-1", "nan", "inf", "1e19"])
def test_weight_is_above_0_and_bounded(weight):
    with pytest.raises(InputError, match=r"a.tsv: weight .*Accepted: a number"):
        WeightedCorpus.parse(f"a.tsv*{weight}")


def test_tag_stands_before_each_source_that_has_text(write):
    path = write("a.tsv", "Hi.\tx\n\n \ty\n")
    corpus = WeightedCorpus(CorpusFile(path), tag="<BT>")
    assert [*corpus.pairs()] == [("<BT> Hi.", "x"), ("", ""), (" ", "y")]


def corpora(*tags):
    return [
        WeightedCorpus(CorpusFile.parse(f"{n}.tsv"), tag=tag)
        for n, tag in enumerate(tags)
    ]


def weighed(corpora, left, temperature):
    mixture = Mixture(corpora)
    mixture.weigh(left, temperature)
    return mixture.weights


@pytest.mark.parametrize(
    ("tags", "pairs", "temperature", "expected"),
    [
        ((None, "<a>"), [5, 500], 1.0, [1, 1]),
        (("<de>", "<de>", "<nl>"), [60, 40, 10], 2.0, [1, 1, 10**0.5]),
        ((None, None), [100, 0], 2.0, [1, 10]),
    ],
    ids=["no temperature", "one language of two", "an empty corpus"],
)
def test_languages_are_weighed(tags, pairs, temperature, expected):
    weights = weighed(corpora(*tags), pairs, temperature)
    np.testing.assert_allclose(weights, expected)
    doubled = [WeightedCorpus(c.file, 2.0, c.tag) for c in corpora(*tags)]
    weights = weighed(doubled, pairs, temperature)
    np.testing.assert_allclose(weights, 2 * np.array(expected))
