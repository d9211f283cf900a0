"""Imported models against what transformers computes with the same files."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.contract import layout
from keras_transformer.data.distilled import source_lines
from keras_transformer.data.prepare import prepare
from keras_transformer.errors import InputError
from keras_transformer.exporting.writer.signatures import TracedSignatures
from keras_transformer.importing.folders import copy_own_files
from keras_transformer.importing.run import _license, read_model
from keras_transformer.training.run import Run
from keras_transformer.translation.translator import Translator
from tests.importing.conftest import (
    LONGEST,
    MARIAN,
    TAGS,
    given,
    logits_of,
    retensored,
    search,
)

KINDS = pytest.mark.parametrize("kind", [*MARIAN, *TAGS])
# As transformers computes.
POSITIONS = dict.fromkeys(MARIAN, "sinusoidal")
POSITIONS |= dict.fromkeys(TAGS, "tensor2tensor")


@KINDS
@pytest.mark.parametrize("side", ["source", "target"])
def test_ids_are_those_of_transformers(kind, side, import_of, references):
    references[kind].assert_ids(import_of(kind), side)


@KINDS
def test_logits_are_those_of_transformers(kind, import_of, references):
    references[kind].assert_logits(import_of(kind, POSITIONS[kind]))


@pytest.mark.filterwarnings("ignore:.*unknown to the tokenizers:UserWarning")
@pytest.mark.parametrize(
    "kind", ["base", pytest.param("big", marks=pytest.mark.medium), "separate"]
)
def test_more_tokens_change_no_logit_of_others(
    kind, import_of, references, tmp_path
):
    run, reference = import_of(kind), references[kind]
    corpus = tmp_path / "pairs.tsv"
    rows = zip(reference.sources, reference.targets, strict=True)
    corpus.write_text("".join(f"⟨1⟩{s}⟨/1⟩\t{t}\n" for s, t in rows))
    data = prepare(
        [corpus],
        tmp_path / "data",
        run.config.data,
        tokenizers=run.folder,
        add_tokens=["⟨1⟩", "⟨/1⟩"],
    )
    child = Run.create(tmp_path / "run", run.config, data, run)
    assert child.source_tokenizer.tokens()[-2:] == ["⟨1⟩", "⟨/1⟩"]
    ids = child.source_tokenizer.tokenize(reference.sources).to_list()
    assert ids == run.source_tokenizer.tokenize(reference.sources).to_list()
    size = run.target_tokenizer.vocabulary_size
    least = min(size, run.source_tokenizer.vocabulary_size)
    rows = np.random.default_rng(1).integers(0, least, (2, 5)).astype("int32")
    inputs = {"source_ids": rows, "target_ids": rows}
    before = np.array(run.load_model()(inputs, training=False))
    after = np.array(child.load_model("initial")(inputs, training=False))
    assert after.shape[-1] == size + 2
    np.testing.assert_array_equal(after[..., :size], before)


@pytest.mark.medium
def test_marians_own_files_hold_the_same_model(
    import_changed, import_of, references
):
    def clear_last_row(tensors):
        tensors["model.shared.weight"][-1] = 0
        return tensors

    # Marian starts with zeros. transformers has moved its <pad>.
    cleared = import_changed("base", retensored(clear_last_row))
    ours = logits_of(import_of("original"), references["base"])
    theirs = logits_of(cleared, references["base"])
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.medium
@pytest.mark.parametrize(
    ("kind", "name", "beam_size", "least"),
    [
        *((kind, "greedy", 1, 43) for kind in MARIAN),
        *((kind, "beam", 4, 43) for kind in MARIAN),
        *((kind, "greedy", 1, 40) for kind in TAGS),
    ],
)
def test_searches_end_where_those_of_transformers_do(
    kind, name, beam_size, least, import_of, references
):
    reference = references[kind]
    run = import_of(kind, POSITIONS[kind])
    found = search(run, reference.sources, beam_size)
    same = 0
    for row, ours, score in zip(reference.searches[name], *found, strict=True):
        expected = reference.translated(row["ids"])[1:]
        if ours == expected:
            same += 1
            if name == "beam":
                assert score == pytest.approx(row["score"], abs=1e-5)
        elif name == "beam":
            # transformers stops sooner, and misses better ones.
            assert score > row["score"]
        else:
            # There the limit ends a sentence by </s>.
            assert len(expected) >= LONGEST
    assert same >= least, f"{same} of {len(reference.sources)}"
    if kind in TAGS:
        texts = run.target_tokenizer.detokenize(tf.ragged.constant(found[0]))
        assert all(b">>" not in line for line in texts.numpy())


def test_a_source_prefix_goes_before_texts_without_a_code(import_of):
    run = import_of("big", source_prefix=">>cmn_Hans<<")
    tokenizer = Run.load(run.folder).source_tokenizer
    bare, hans, hant, close, blank = tokenizer.tokenize(
        ["I go.", ">>cmn_Hans<< I go.", ">>yue<< I go.", ">>yue<<I go.", " "]
    ).to_list()
    assert bare == hans
    assert close == hant != hans
    assert blank == []
    assert hant[1:] == hans[1:]
    assert tokenizer.language_codes()[0].startswith(">>")
    surface = tokenizer.surface(["I go."]).to_list()[0]
    assert surface[0] == b">>cmn_Hans<<"
    assert len(surface) == len(bare)


def test_what_looks_like_a_code_and_is_none_is_text(import_of):
    tokenizer = import_of("big", source_prefix=">>cmn_Hans<<").source_tokenizer
    texts = [">>xx<< I go.", ">>xx<<I go.", ">>1<<", ">>CMN_HANS<< I go."]
    ids = tokenizer.tokenize(texts).to_list()
    ((code, *_),) = tokenizer.tokenize([">>cmn_Hans<< I go."]).to_list()
    assert [row[0] for row in ids] == [code] * 4
    assert b"".join(tokenizer.surface(texts).to_list()[0][1:]) == b">>xx<<Igo."
    # Without a prefix it is the same text.
    bare = tokenizer.with_prefix("").tokenize(texts).to_list()
    assert bare == [row[1:] for row in ids]


def test_distilled_sources_keep_their_codes(import_of):
    tokenizer = import_of("big").source_tokenizer
    code = tokenizer.language_codes()[-1]
    ids = tokenizer.tokenize([f"{code} go", "go", ""])
    lines = source_lines(tokenizer, ids)
    assert [line.startswith(code) for line in lines] == [True, False, False]
    assert tokenizer.tokenize(lines).to_list() == ids.to_list()


def test_decoding_chooses_another_prefix(import_of):
    run = import_of("big", source_prefix=">>cmn_Hans<<")
    assert run.config.decoding.source_prefix == ">>cmn_Hans<<"
    model = run.load_model()

    def ids(text, **decoding):
        config = dataclasses.replace(run.config.decoding, **decoding)
        translator = Translator.from_run(run, model, config)
        return translator.prepare(tf.constant([text])).ids.numpy().tolist()

    assert ids("I go.") == ids(">>cmn_Hans<< I go.")
    other = ids("I go.", source_prefix=">>yue<<")
    assert other == ids(">>yue<< I go.") != ids("I go.")
    with pytest.raises(InputError, match="Accepted: >>cmn_Hans<<"):
        ids("I go.", source_prefix=">>deu<<")


@pytest.mark.medium
def test_an_export_keeps_the_prefix_of_the_search(import_of):
    run = import_of("big", source_prefix=">>cmn_Hans<<")
    tokenizer = run.source_tokenizer
    config = dataclasses.replace(run.config.decoding, source_prefix=">>yue<<")
    signatures = TracedSignatures(
        run.load_model(), tokenizer, run.target_tokenizer, config
    )
    text = tf.constant(["I go."])
    ids = signatures.functions[layout.TOKENIZE](text)["ids"].numpy().tolist()
    assert ids == tokenizer.tokenize([">>yue<< I go."]).to_list()


def test_a_prefix_that_is_no_code_is_refused(refuses):
    reason = "Accepted: .*>>cmn_Hans<<"
    refuses("base", lambda folder: None, reason, source_prefix=">>deu<<")


def test_punctuation_is_normalised_if_the_pipeline_did(import_changed):
    def change(folder):
        script = "perl normalize-punctuation.perl -l en | spm_encode\n"
        (folder / "preprocess.sh").write_text(script)

    options = {"source_language": "en", "target_language": "zh"}
    run = import_changed("original", change, **options)
    assert run.manifest["imported"]["punctuation"] == "moses"
    tokenizer = Run.load(run.folder).source_tokenizer
    odd, plain = tokenizer.tokenize(["“I” – go…", '"I" - go...']).to_list()
    assert odd == plain


CARDS = {
    "license: apache-2.0": "apache-2.0",
    "license:   mit\t": "mit",
    "license:\n- mit\n- gpl": "mit",
    "license:\ntags: [a]": None,
    "license: \x1b[2Jmit": "\ufffd[2Jmit",
    f"license: {'x' * 500}": "x" * 100,
    f"license: a{' ' * 30000}b": f"a{' ' * 99}",
    f"a: {'x' * (1 << 16)}\nlicense: mit": None,
    "\n" * 30000 + "license: mit": "mit",
    "license:\n" * 3000: None,
}


@pytest.mark.parametrize(("card", "said"), CARDS.items(), ids=range(len(CARDS)))
def test_the_licence_is_a_short_text(card, said, tmp_path):
    (tmp_path / "README.md").write_text(f"---\n{card}\n---\n# Model\n")
    assert _license(tmp_path) == said


def test_no_private_file_becomes_a_notice(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    secret = tmp_path / "secret"
    secret.write_text("---\nlicense: key\n---\n")
    (folder / "README-x").symlink_to(secret)
    (folder / "NOTICE").write_text("notice")
    (folder / "LICENSE").symlink_to("NOTICE")
    (folder / "README.md").symlink_to(secret)
    copies = tmp_path / "imported"
    with pytest.warns(UserWarning, match="README.*: a link") as caught:
        copy_own_files(folder, copies)
    assert len(caught) == 2
    assert {path.name for path in copies.iterdir()} == {"NOTICE", "LICENSE"}
    assert not (copies / "LICENSE").is_symlink()
    assert _license(folder) is None
    (folder / "NOTICE").write_bytes(bytes(1 << 23))
    with pytest.raises(
        InputError, match="NOTICE: too large|LICENSE: too large"
    ):
        copy_own_files(folder, copies, "*E")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('models: ["a\\0.npz"]\nvocabs: [a.yml, b.yml]\n', "npz: damaged"),
        (f"models: {'[' * 15}{']' * 15}\n", "models is .*Accepted: 1 file"),
        ("#" * 70000, "decoder.yml: too large"),
        (f"models: 0x{'f' * 9000}\n", "models is a value of type int"),
        ('models: ["\\e[2J.bin"]\nvocabs: [a.yml, b.yml]\n', "'.x1b.2J.bin'"),
    ],
)
def test_hostile_settings_of_marian_are_refused(text, reason, tmp_path):
    (tmp_path / "decoder.yml").write_text(text)
    with pytest.raises(InputError, match=reason) as error:
        read_model(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (f"x: {'[' * 30000}{']' * 30000}", "special:model.yml: damaged"),
        ("#" * 70000, "special:model.yml: 70,000 bytes"),
        ("transformer-ffn-activation: [relu]", r"activation is \['relu'\]"),
        ("dim-emb: [[1]]", r"dim-emb is \[\[1\]\]"),
    ],
)
def test_hostile_settings_in_weights_are_refused(settings, reason, refuses):
    content = np.frombuffer(settings.encode(), np.int8)
    arrays = {"special:model.yml": content}
    refuses("original", lambda f: np.savez(f / "model.npz", **arrays), reason)


def test_dropout_is_that_of_the_training(import_changed):
    rates = {"dropout": 0.3, "attention_dropout": 0.2}
    run = import_changed("base", given(**rates, activation_dropout=0.1))
    model = run.config.model
    assert model.dropout == 0.3
    assert model.attention_dropout == 0.2
    assert model.feedforward_dropout == 0.1
