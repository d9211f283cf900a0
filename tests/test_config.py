import dataclasses
import inspect
import math

import numpy as np
import pytest
import yaml

from keras_transformer.config import (
    Config,
    DataConfig,
    DecodingConfig,
    ModelConfig,
    TrainingConfig,
)
from keras_transformer.config.presets import (
    PRESETS,
    chosen,
    preset,
    resolved,
    settings_of,
)
from keras_transformer.errors import InputError


@pytest.mark.parametrize("name", PRESETS)
def test_presets_come_back_from_their_yaml(name):
    config = preset(name)
    values = yaml.safe_load(config.to_yaml())
    assert Config().updated(values) == config


@pytest.mark.parametrize("pair", ["en-zh", "zh-en", "de-en", "ja-zh"])
def test_tiny_has_one_vocabulary_for_any_pair(pair):
    source, target = pair.split("-")
    languages = {"source_language": source, "target_language": target}
    data = preset("tiny").updated({"data": languages}).data
    assert (data.source_kind, data.target_kind) == ("sentencepiece",) * 2


def test_unknown_preset_lists_those_there_are():
    with pytest.raises(InputError, match="'huge'.*auto, notebook, base"):
        preset("huge")


def test_updated_leaves_the_rest_and_the_original():
    config = Config()
    changed = config.updated({"model": {"d_model": 64}})
    assert changed.model.d_model == 64
    assert config.model.d_model == 512
    assert changed.training == config.training
    with pytest.raises(dataclasses.FrozenInstanceError):
        changed.model.d_model = 3


def test_batches_of_tokens_replace_those_of_sentences():
    notebook = preset("notebook")
    assert notebook.training.batch_sentences == 128
    changed = notebook.updated({"training": {"batch_tokens": 256}})
    assert changed.training.batch_sentences is None


def test_settings_that_fit_only_together_are_taken_together():
    config = Config().updated({"model": {"d_model": 30, "num_heads": 5}})
    assert config.model.num_heads == 5


def test_settings_of_several_kinds_are_taken_together():
    changes = [
        ({"training": {"best_by": "bleu", "bleu_every": 60}}, "--set"),
        ({"training": {"epochs": 60}}, "options"),
    ]
    assert resolved(None, changes).training.bleu_every == 60
    languages = {"source_language": "de", "target_language": "fr"}
    changes = [({"data": {"shared_vocabulary": True}}, "--set")]
    changes.append(({"data": languages}, "options"))
    assert resolved(None, changes).data.shared_vocabulary
    # What doesn't fit even so is told where it was said.
    changes[0] = ({"training": {"best_by": "bleu", "bleu_every": 60}}, "--set")
    with pytest.raises(InputError, match="--set: training.bleu_every"):
        resolved(None, changes)
    with pytest.raises(InputError, match="file"):
        resolved(None, [({"model": 3}, "file")])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": {"d_modle": 8}}, "my.yaml: .*did you mean model.d_model?"),
        ({"modle": {}}, "unknown key modle, did you mean model"),
        ({"model": {"d_model": "8"}}, "d_model takes an integer.*'8'"),
        ({"model": {"d_model": True}}, "takes an integer. Received: True"),
        ({"model": {"dropout": 1.0}}, "below 1. Received: 1.0"),
        ({"model": {"d_model": 9, "num_heads": 3}}, "even. Received: 9"),
        ({"model": {"activation": "tanh"}}, "relu, gelu, swish.*'tanh'"),
        ({"model": 3}, "section model: expected"),
        ([1], "my.yaml: expected"),
        ({"data": {"target_language": False}}, "in quotes"),
        ({"data": {"max_length_ratio": 0.5}}, "at least 1. Received: 0.5"),
        ({"data": {"remove_leaked": "all"}}, "none, pair, source, side"),
        ({"data": {"source_vocabulary_size": 4}}, "more than the 4 reserved"),
        (
            {"data": {"shared_vocabulary": True, "source_tokenizer": "word"}},
            "sentencepiece",
        ),
        *(
            ({"data": {"source_tags": tags}}, "source_tags must be different")
            for tags in (["BT"], ["<a b>"], ["<s>"], ["<BT>"] * 2, ["<>"])
        ),
        (
            {"data": {"source_tags": ["<B>"], "source_vocabulary_size": 5}},
            "more than the 5 reserved",
        ),
        ({"training": {"precision": "int8"}}, "mixed_bfloat16"),
        ({"training": {"seed": -1}}, "training.seed.*Received: -1"),
        ({"training": {"subword_sampling": 1.5}}, "at most 1. Received: 1.5"),
        ({"training": {"epochs": 0}}, "greater than 0. Received: 0"),
        ({"training": {"learning_rate": "inf"}}, "a finite number.*: inf"),
        ({"decoding": {"max_length_ratio": math.inf}}, "a finite number"),
        ({"decoding": {"max_length_ratio": 1e300}}, "number below 10.38"),
        ({"decoding": {"max_length_ratio": math.nan}}, "a finite number"),
        ({"decoding": {"length_penalty": 200}}, "10 or less. Received: 200"),
        ({"training": {"learning_rate": 1e-300}}, "1e-37 or more"),
        ({"training": {"best_by": "chrf"}}, "one of loss, bleu.*'chrf'"),
        (
            {"training": {"best_by": "last", "early_stopping": 3}},
            "early_stopping must be 0 with training.best_by last",
        ),
        (
            {"training": {"epochs": 5, "cooldown_epochs": 6}},
            "cooldown_epochs must be 5 .training.epochs. or less.*: 6",
        ),
        ({"training": {"cooldown_epochs": -0.1}}, "0 or more. Received: -0.1"),
        ({"training": {"best_by": "bleu"}}, "bleu_every must be 1 to 20.*: 0"),
        (
            {"training": {"best_by": "bleu", "bleu_every": 21}},
            "bleu_every must be 1 to 20.*: 21",
        ),
        ({"training": {"average_epochs": -1}}, "average_epochs must be 0 or"),
        ({"decoding": {"beam_size": 0}}, "decoding.beam_size"),
        ({"decoding": {"min_length": 2**31}}, "min_length must be 1,048,576"),
        ({"decoding": {"top_k": 2**31}}, "top_k must be 1,073,741,824 or less"),
        ({"decoding": {"top_p": 1e-46}}, "at least 1e-6, at most 1.*: 1e-46"),
        ({"decoding": {"top_p": 0.5}}, "1 unless decoding.temperature is"),
        ({"decoding": {"temperature": 1e-9}}, "0, or at least 1e-6"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_accepted(values, message):
    with pytest.raises(InputError, match=message) as error:
        Config().updated(values, "my.yaml")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ModelConfig(d_model="8"), "model.d_model takes an integer"),
        (lambda: TrainingConfig(warmup_steps=4e3), "integer. Received: 4000.0"),
        (lambda: ModelConfig(source_end="false"), "true or false"),
        (lambda: DecodingConfig(banned_tokens="the"), "a list of strings"),
        (lambda: ModelConfig(d_model=None), "model.d_model takes an integer"),
    ],
)
def test_a_section_of_wrong_types_cannot_be_made(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_section_has_the_types_that_its_file_gives_back():
    section = DecodingConfig(length_penalty=1, banned_tokens=["a"])
    assert Config().updated(Config(decoding=section).to_dict()) == Config(
        decoding=section
    )
    assert section.banned_tokens == ("a",)


def test_numbers_as_people_write_them():
    values = yaml.safe_load("training: {learning_rate: 1e-8, gradient_clip: 0}")
    training = Config().updated(values).training
    assert (training.learning_rate, training.gradient_clip) == (1e-8, 0.0)


def test_numbers_of_numpy_are_pythons():
    training = TrainingConfig(
        epochs=np.int64(5), learning_rate=np.float32(0.5), augment=np.int32(1)
    )
    values = training.epochs, training.learning_rate, training.augment
    assert [(type(value), value) for value in values] == [
        (int, 5),
        (float, 0.5),
        (float, 1.0),
    ]
    with pytest.raises(InputError, match="takes an integer. Received: 5.0"):
        TrainingConfig(epochs=np.float64(5))


@pytest.mark.parametrize(
    ("source", "target", "kinds"),
    [
        ("en", "zh", ("sentencepiece", "mixed")),
        ("zh-TW", "en", ("mixed", "sentencepiece")),
        ("de", "fr", ("sentencepiece", "sentencepiece")),
        ("ja", "cmn", ("mixed", "mixed")),
    ],
)
def test_tokenizers_follow_the_languages(source, target, kinds):
    config = DataConfig(source_language=source, target_language=target)
    assert (config.source_kind, config.target_kind) == kinds
    assert not config.lowercase


@pytest.mark.parametrize(
    ("pairs", "gpu", "name", "reason"),
    [
        (26_679, False, "tatoeba", "26,679 pairs, no GPU: tatoeba"),
        (49_999, True, "tatoeba", "a GPU"),
        (50_000, False, "domain", "50,000 pairs, no GPU: domain"),
        (300_000, False, "domain", "no GPU"),
        (299_999, True, "domain", "a GPU"),
        (
            300_000,
            True,
            "base",
            "a GPU: base, the paper's model, not measured here",
        ),
    ],
)
def test_a_preset_is_chosen_by_pairs_and_machine(pairs, gpu, name, reason):
    chosen_name, why = chosen(pairs, gpu)
    assert chosen_name == name
    assert reason in why


def test_a_named_preset_ties_as_the_run_that_it_starts_from():
    model = {"tied_embeddings": "all", "d_model": 64}
    config = resolved("tatoeba", [], taken_over={"model": model})
    assert (config.model.tied_embeddings, config.model.d_model) == ("all", 256)


def test_help_says_rules_in_words():
    signature = str(inspect.signature(ModelConfig))
    assert "Rule('greater than 0')" in signature
    assert "lambda" not in signature


def test_settings_are_a_mapping_or_a_file(tmp_path):
    assert settings_of(None) == []
    values = {"training": {"epochs": 3}}
    assert settings_of(values) == [(values, "config")]
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(values))
    assert settings_of(path) == [(values, str(path))]
    with pytest.raises(InputError, match="config"):
        settings_of(3)


@pytest.mark.parametrize(
    ("pattern", "accepted"),
    [
        (r"\$\d+", True),
        ("a(b|c)", True),
        ("a*", False),  # matches an empty text
        ("(", False),
        (r"(a)\1", False),
        ("(?P<name>a)", False),
        ("(?i)a", False),
    ],
)
def test_patterns_of_placeholders(pattern, accepted):
    config = Config()
    if accepted:
        changed = config.updated({"data": {"placeholders": [pattern]}})
        assert pattern in changed.data.markup_patterns
    else:
        with pytest.raises(InputError, match="data.placeholders"):
            config.updated({"data": {"placeholders": [pattern]}})
