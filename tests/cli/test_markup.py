"""Models with symbols for markup: prepared, trained, exported and served."""

import random
import re

import numpy as np
import pytest
import tensorflow as tf

import keras_transformer as kt
from keras_transformer.data.masking import mask_pair
from keras_transformer.data.prepared import PreparedData
from keras_transformer.documents.markup import find_marks
from keras_transformer.errors import InputError
from keras_transformer.symbols import MARKUP_SYMBOLS
from keras_transformer.system.machine import multiplies_int8
from keras_transformer.translation.details import (
    align,
    details,
    pair_scorer,
)
from tests.cli.conftest import call
from tests.toy_models import MODEL
from tests.toy_runs import WORD_DATA, untrained_run

SIDES = ("source", "target")
LETTERS = "abcdefghijklmnop"
WORDS = [f"{a}{a}{b}" for b in LETTERS[:6] for a in LETTERS]
TEXTS = [
    "aaa <b>bbb <i>ccc</i></b> ddd",
    "<p>%(x)s</p><br/>eee {name}",
    "~fff <b></b><b>ggg</b>",
    "hhh iii",
    "<br/>",
    " ".join(f"{word} {{{n}}}" for n, word in enumerate(WORDS[:40])),
    "</b> jjj <i> kkk ⟨1⟩",
]


def pairs(count, seed=1):
    """Words in the same order, a third of them with markup."""
    generator = random.Random(seed)
    for _ in range(count):
        words = generator.sample(WORDS, generator.randint(3, 6))
        if generator.random() < 0.5:
            start = generator.randrange(len(words))
            end = generator.randrange(start, len(words))
            words[start] = f"<b>{words[start]}"
            words[end] += "</b>"
        if generator.random() < 0.3:
            words.insert(generator.randint(0, len(words)), "%s")
        text = " ".join(words)
        yield text, text.upper().replace("B>", "b>").replace("%S", "%s")


def prepare(folder, corpus, *options):
    lines = [f"{source}\t{target}\n" for source, target in corpus]
    (folder / "train.tsv").write_text("".join(lines), encoding="utf-8")
    words = ["--train", folder / "train.tsv", "--dev=0.1", "--markup=symbols"]
    words += ["--source-language=en", "--target-language=fr", *options]
    call("prepare", *words, "--out", folder / "data")
    return folder / "data"


def marks_of(text, placeholders=()):
    marks = find_marks(text, placeholders)
    halves = sum(mark.partner != n for n, mark in enumerate(marks))
    return sorted(text[m.start : m.end] for m in marks), halves


def assert_complete(texts, translations, placeholders=()):
    found = [marks_of(text, placeholders) for text in translations]
    assert found == [marks_of(text, placeholders) for text in texts]


@pytest.fixture(
    scope="module",
    params=["word", pytest.param("sentencepiece", marks=pytest.mark.medium)],
)
def run(request, tmp_path_factory):
    """Random weights, so that nothing but the search keeps a structure."""
    folder = tmp_path_factory.mktemp(request.param)
    kinds = [f"--{side}-tokenizer={request.param}" for side in SIDES]
    data = prepare(folder, pairs(300), *kinds, "--placeholder=~")
    return untrained_run(folder / "run", data, max_length=40)


# What doesn't depend on the tokenizer.
of_words = pytest.mark.parametrize("run", ["word"], indirect=True)


def test_data_is_masked_on_both_sides(run):
    data = PreparedData.load(run.folder.parent / "data")
    report = data.report["markup"]
    assert report["masked"] > 100
    assert 1 <= report["injected"] < 40
    assert report["different"] == report["too_many"] == 0
    # Evaluation is given text as it was.
    dev = list(data.dev_pairs())
    assert any("<b>" in source and "<b>" in target for source, target in dev)
    known = set(data.source_tokenizer.tokens())
    assert known.issuperset(MARKUP_SYMBOLS)
    assert not any("<" in token[1:-1] or "%" in token for token in known)
    assert data.source_tokenizer.first_symbol == 4
    assert data.report["dev_unknown_share"]["source"] < 0.02


@pytest.mark.medium
def test_all_marks_come_back_whatever_the_model_says(run):
    translator = kt.load(run.folder)
    assert_complete(TEXTS, translator.translate(TEXTS), ("~",))
    for several in zip(*translator.translate(TEXTS[:4], n_best=3), strict=True):
        assert_complete(TEXTS[:4], several, ("~",))
    assert translator.translate("<br/>") == "<br/>"
    both = kt.load(run.folder, ensemble=run.folder)
    assert_complete(TEXTS[:3], both.translate(TEXTS[:3]), ("~",))
    kept = kt.load(run.folder, markup="keep")
    as_text = kept.translate(TEXTS)
    assert not any("<b>" in text for text in as_text)
    same = [(text, text) for text in TEXTS]
    measured = kt.evaluate(kept, same, sentences="split")
    assert measured.texts.translations == as_text
    own = kt.load(run.folder, placeholders=[r"h+"])
    text = "hhh <b>iii</b>"
    found = own.translate(text)
    assert_complete([text], [found], ("h+",))
    assert "hhh" in found


SENTENCES = ["Aaa <b>bbb</b> %s.", "Ccc <i>ddd</i>."]


@of_words
def test_later_sentences_are_translated_as_alone(run):
    loaded = kt.load(run.folder)
    alone = loaded.translate(SENTENCES)
    assert loaded.translate(" ".join(SENTENCES)) == " ".join(alone)
    translator = loaded.new_translator(align=True)
    low, high = (f"aaa ⟨{n}⟩bbb⟨/{n}⟩ ⟨{n + 1}/⟩" for n in (1, 9))
    for outputs in (
        details(translator, 2, tokens=True)(tf.constant([low, high])),
        align(translator)(tf.constant([low, high])),
    ):
        for name in {"tokens", "target_tokens", "source_tokens"} & {*outputs}:
            for n, place in enumerate(("⟨1⟩", "⟨9⟩")):
                tokens = outputs[name][n].numpy().ravel()
                assert place.encode() in {*tokens}, name
    both = tf.constant([low, high])
    first, second = translator.score(both, both)["score"].numpy()
    assert first == pytest.approx(second, rel=1e-5)


@of_words
def test_command_line(run, write, succeed, refuses):
    file = write("in.txt", TEXTS)
    words = ["translate", "--run", run.folder, "--input", file]
    found = succeed(*words, "--placeholder", "h+").out.splitlines()
    assert_complete(TEXTS, found, ("~",))
    assert "hhh" in found[3]
    refuses(*words, "--placeholder", "(", says=["regular expression"])
    assert "<b>" not in succeed(*words, "--markup=keep").out


@of_words
def test_nothing_is_left_of_a_pair_to_score(run, write, succeed):
    pairs = write("pairs.tsv", "<br/>\t<hr/>\na\tb\n")
    said = succeed("score", "--run", run.folder, "--input", pairs).out
    assert len(said.splitlines()) == 2


@of_words
def test_pictures_are_of_what_the_model_reads(run):
    pytest.importorskip("matplotlib", reason="needs the extra [plots]")
    from keras_transformer.plots import sentence_attention, sentence_beam_tree

    model = run.load_model()
    seen = sentence_attention(run, model, TEXTS[0])
    marks = {"⟨1⟩", "⟨/1⟩", "⟨2⟩", "⟨/2⟩"}
    assert marks <= {*seen.source_tokens}
    assert marks <= {*seen.output_tokens}
    text, given = "aaa <b>bbb</b>", "<b>BBB</b> %s"
    seen = sentence_attention(run, model, text, given)
    assert {"⟨1⟩", "⟨/1⟩"} <= {*seen.source_tokens} & {*seen.output_tokens}
    tree = sentence_beam_tree(run, model, TEXTS[0])
    assert marks <= {tree.nodes[index].token for index in tree.best}
    for text in TEXTS[4:6]:
        with pytest.raises(InputError, match="nothing but markup, or has more"):
            sentence_beam_tree(run, model, text)


@pytest.mark.medium
@of_words
def test_documents(run, tmp_path):
    page = "<html><p>aaa <b>bbb</b> <i>ccc</i></p></html>"
    (tmp_path / "in.html").write_text(page)
    kt.translate_file(run.folder, tmp_path / "in.html", tmp_path / "out.html")
    assert_complete([page], [(tmp_path / "out.html").read_text()])
    files = ["--input", tmp_path / "in.html", "--output", tmp_path / "c.html"]
    call("translate", "--run", run.folder, *files)
    expected = (tmp_path / "out.html").read_text()
    assert (tmp_path / "c.html").read_text() == expected


@of_words
def test_tokenizers_of_such_data_are_for_such_data(run, tmp_path, refuses):
    corpus = run.folder.parent / "train.tsv"
    words = ["prepare", "--train", corpus, "--out", tmp_path / "data"]
    words += ["--tokenizers", run.folder]
    says = ["data.markup is 'symbols', not"]
    refuses(*words, "--set=data.markup=keep", says=says)
    (tmp_path / "tokens.txt").write_text("x⟩\n\n")
    more = ["--add-tokens", tmp_path / "tokens.txt"]
    call(*words, "--set=data.markup=symbols", *more)
    tokenizers = kt.PreparedData.load(tmp_path / "data")
    assert "x⟩" in tokenizers.source_tokenizer.tokens()


def test_tags_before_a_text_are_no_markup(tmp_path):
    """That of a corpus is a token, and comes out of no translation."""
    lines = [f"{a} <b>{a}</b>\t{a.upper()} <b>{a}</b>\n" for a in WORDS]
    made, real = tmp_path / "made.tsv", tmp_path / "real.tsv"
    made.write_text("".join(lines[:80]))
    real.write_text("".join(lines[80:]))
    prepared = kt.prepare(
        *([f"{made}#BT", real], tmp_path / "data"),
        dev=f"{real}#BT",
        markup="symbols",
        **WORD_DATA,
    )
    markup = prepared.report["markup"]
    assert (markup["masked"], markup["different"]) == (len(lines), 0)
    made = untrained_run(tmp_path / "run", prepared.path, max_length=40)
    run = kt.load(made.folder)
    (found,) = run.translate(["<BT> aab <b>aac</b>"])
    assert marks_of(found) == marks_of("<b></b>")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:this processor has neither")
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_export_and_server(run, tmp_path, precision):
    """The export's checks ask it through the C API, too."""
    from keras_transformer.serving.server.servable import Servable

    options = {} if precision == "float32" else {"precision": precision}
    report = kt.export(run.folder, tmp_path / "models", **options)
    assert all(check.passed for check in report.checks)
    translator = kt.load(report.path)
    translations = translator.translate(TEXTS)
    assert_complete(TEXTS, translations, ("~",))
    alone = " ".join(translator.translate(SENTENCES))
    assert translator.translate(" ".join(SENTENCES)) == alone
    pair = ("Press <b>OK</b>.", "<b>OK</b> drücken.")
    [expected] = pair_scorer(kt.load(run.folder).new_translator())([pair])
    found = translator.score(*([side] for side in pair))
    # Without VNNI sums of int8 products are cut off.
    if precision != "int8" or multiplies_int8():
        assert found["log_probability"][0] == pytest.approx(
            expected.log_probability, rel=0.02 if options else 1e-4
        )
    servable = Servable("m", 1, report.path)
    texts = [text.encode() for text in TEXTS]
    masked = mask_pair((TEXTS[0], TEXTS[0]))[0][0]
    inputs = {"text": np.array([*texts, masked.encode()], object)}
    found = servable.run("", inputs)
    *served, last = (text.decode() for text in found["translation"])
    assert_complete(TEXTS, served, ("~",))
    assert_complete([masked], [last])
    several = servable.run("nbest", inputs, ("translations",))
    for column in several["translations"].T:
        assert_complete(TEXTS[:4], [t.decode() for t in column[:4]], ("~",))
    servable.close()


@pytest.mark.slow
def test_ctranslate2(run, tmp_path, succeed):
    """Its search knows nothing of structure: what it lost is put back."""
    pytest.importorskip("ctranslate2")
    folder = tmp_path / "c"
    kt.export(run, folder, format="ctranslate2")
    translator = kt.load(folder)
    assert_complete(TEXTS, translator.translate(TEXTS), ("~",))
    answers = translator.answer(["aaa ⟨1⟩bbb⟨/1⟩", "aaa ⟨9⟩bbb⟨/9⟩"])
    (low,), (high,) = answers[0]
    assert re.sub(r"\d+", lambda n: str(int(n[0]) + 8), low) == high
    # Of as many tokens as the run: symbols, not the marks' characters.
    columns = TEXTS[:2], TEXTS[:2]
    counts = [kt.evaluate(x, columns).tokens for x in (run, translator)]
    assert counts[0] == counts[1]
    command = ["translate", f"--ctranslate2={folder}"]
    masked = succeed(*command, *TEXTS).out.splitlines()
    assert_complete(TEXTS, masked, ("~",))
    assert succeed(*command, "--markup=keep", *TEXTS).out.splitlines() != masked


@pytest.mark.slow
def test_a_model_learns_where_markup_belongs(tmp_path):
    kinds = [f"--{side}-tokenizer=word" for side in SIDES]
    data = prepare(tmp_path, pairs(3000), *kinds)
    model = {
        **MODEL,
        **{"d_model": 64, "num_heads": 4, "d_ff": 128},
        **{"max_length": 40, "dropout": 0.0},
    }
    training = {"warmup_steps": 100, "batch_sentences": 32}
    run = kt.train(
        *(data, tmp_path / "run"),
        epochs=12,
        config=kt.Config().updated({"model": model, "training": training}),
        verbose=0,
    )
    tests = [pair for pair in pairs(200, seed=2) if find_marks(pair[0])]
    found = run.translate([source for source, _ in tests])
    assert_complete([source for source, _ in tests], found)
    right = sum(
        re.sub(r"\s", "", text).upper() == re.sub(r"\s", "", target).upper()
        for text, (_, target) in zip(found, tests, strict=True)
    )
    assert right > 0.9 * len(tests)
