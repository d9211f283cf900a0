import pytest

import keras_transformer as kt
from keras_transformer.errors import InputError

PAIRS = [("aaa bbb", "ab"), ("ccc", "c")]
GREEDY = kt.DecodingConfig(beam_size=1)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "dev.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS))
    return path


@pytest.fixture(scope="module")
def by_pairs(run):
    """What other ways to name the same run and pairs have to give."""
    return kt.evaluate(run, PAIRS, decoding=GREEDY)


def test_a_file_is_the_pairs_in_it_and_a_folder_the_run(
    run, folder, file, by_pairs
):
    assert by_pairs.sentences == 2
    for model, pairs in ((run, str(file)), (folder, [file])):
        found = kt.evaluate(model, pairs, decoding=GREEDY)
        assert found.cross_entropy == by_pairs.cross_entropy


def test_pairs_with_a_blank_side_do_not_count(run, by_pairs):
    blanks = ["", "\t\u3000\r\n", "\u200b", "\u2800 \x00"]
    out = [p for one in blanks for p in ((one, "x"), ("b", one), (one, one))]
    pairs = [PAIRS[0], *out, PAIRS[1]]
    found = kt.evaluate(run, pairs, decoding=GREEDY)
    assert (found.sentences, found.blank_pairs) == (2, 12)
    assert found.cross_entropy == by_pairs.cross_entropy
    assert found.figures()["blank_pairs"] == 12
    assert found.texts.sources == [source for source, _ in PAIRS]
    with pytest.raises(InputError, match="no sentence pair to evaluate on"):
        kt.evaluate(run, out)


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        ([("aaa", "a"), ("bbb",)], r"\('bbb',\): no pair of sentences"),
        ([("aaa", 1)], r"\('aaa', 1\): no pair"),
        ([(__file__, __file__)], 'two files. Accepted: "/.*,/.*"'),
        ("no such.tsv", "no such.tsv: No such file"),
        ([], "no sentence pair"),
    ],
)
def test_what_is_no_pair_is_told(run, pairs, says):
    with pytest.raises(InputError, match=says):
        kt.evaluate(run, pairs)


def test_what_is_no_model_is_told():
    with pytest.raises(InputError, match="evaluate takes a run. Received: 3"):
        kt.evaluate(3, PAIRS, ensemble=["run"])


def test_text_that_utf8_cannot_hold_is_evaluated_as_it_is_translated(folder):
    odd = [("aaa \udcff", "bbb \udcff")]
    plain = [("aaa ?", "bbb ?")]
    found, expected = (
        kt.evaluate(folder, pairs, decoding=GREEDY, shortlist=pairs)
        for pairs in (odd, plain)
    )
    assert found.cross_entropy == pytest.approx(expected.cross_entropy)
    assert found.texts.translations == expected.texts.translations


@pytest.mark.medium
@pytest.mark.parametrize("markup", ["project", None])
def test_a_run_is_measured_as_it_translates_markup(folder, markup):
    run = kt.load(folder, decoding=GREEDY, markup=markup)
    pairs = [("<b>aaa</b> bbb %s", "<b>a</b> b %s")]
    found = kt.evaluate(run, pairs, documents=True)
    assert found.texts.translations == run.translate([pairs[0][0]])
    by_sentence, as_one = found.documents.systems
    assert by_sentence.chrf == as_one.chrf
