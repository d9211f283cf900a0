"""Searches compiled by XLA: the same ids, few shapes, counted."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.errors import InputError
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.text.character import CharacterTokenizer
from keras_transformer.translation.compiled import (
    USES_WORTH_COMPILING,
    CompiledTranslator,
    padded_length,
    when_to_compile,
)
from keras_transformer.translation.translator import Translator
from tests.toy_models import check_equal, shared_transformer

ROOT = pathlib.Path(__file__).resolve().parents[2]
LETTERS = "abcdefghijklmnop"
# Random models say one word for ever unless it is forbidden.
OPTIONS = {"no_repeat_ngram_size": 2, "batch_size": 4, "max_length_offset": 9}
TEXTS = ["abc", "", "hgfe", "a", "   ", "bbb"]


def tokenizer():
    return CharacterTokenizer([*SPECIAL_TOKENS, *LETTERS])


def both(after=0, **options):
    """The compiled translator and what it has to equal."""
    config = DecodingConfig(**{**OPTIONS, **options})
    model = shared_transformer("pre")
    tokenizers = tokenizer(), tokenizer()
    compiled = CompiledTranslator(*tokenizers, model, config, after)
    expected = Translator(*tokenizers, IncrementalTransformer(model), config)
    return compiled, expected


@pytest.fixture(
    scope="module",
    params=[pytest.param(1, marks=pytest.mark.slow), 3],
    ids=["greedy", "beam 3"],
)
def pair(request):
    return both(beam_size=request.param)


def check_same(found, expected, width):
    """Equal results; the compiled one has room for more."""
    assert not np.any(found.ids[..., width:])
    check_equal(found._replace(ids=found.ids[..., :width]), expected)


def random_texts(count, longest, seed=1):
    random = np.random.default_rng(seed)
    lengths = random.integers(1, longest + 1, count)
    return ["".join(random.choice(list(LETTERS), n)) for n in lengths]


@pytest.mark.medium
@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,
        random_texts(9, 6),
        pytest.param(random_texts(4, 40), marks=pytest.mark.slow),
        pytest.param(["abc"], marks=pytest.mark.slow),
        ["", ""],
    ],
    ids=["blank ones", "several batches", "long", "one", "only blank"],
)
def test_ids_equal_those_of_the_graph(pair, texts):
    compiled, expected = pair
    source = expected.prepare(tf.constant(texts))
    found = compiled.search(compiled.prepare(texts))
    result = expected.search(source)
    check_same(found, result, result.ids.shape[-1])


@pytest.mark.medium
def test_texts_equal_those_of_the_graph(pair):
    compiled, expected = pair
    found = compiled.translate(TEXTS)
    outputs = expected.translate(tf.constant(TEXTS))
    np.testing.assert_array_equal(found["translation"], outputs["translation"])
    np.testing.assert_allclose(found["score"], outputs["score"], atol=1e-4)
    assert len(set(found["translation"].numpy())) > 3


def test_nothing_gives_nothing(pair):
    compiled, _ = pair
    assert compiled.translate([])["translation"].shape == [0]


@pytest.mark.medium
def test_few_shapes_are_compiled_and_their_seconds_counted():
    compiled, _ = both(beam_size=1)
    for count in (2, 3, 4, 7, 8):
        for length in (4, 5, 6):
            compiled.translate(["a" * length] * count)
    compiled.translate(["a"])
    assert compiled.shapes == [(4, 8), (1, 8)]
    seconds = compiled.compile_seconds
    assert seconds > 0
    compiled.translate(["ab", "b"])
    assert compiled.compile_seconds == seconds


@pytest.mark.medium
def test_a_shape_is_compiled_after_so_many_uses():
    compiled, expected = both(after=2, beam_size=1, batch_size=1)
    wanted = expected.translate(tf.constant(["abc"]))["translation"]
    for uses in range(1, 5):
        assert compiled.translate(["abc"])["translation"] == wanted
        assert compiled.shapes == ([] if uses <= 2 else [(1, 8)])


@pytest.mark.parametrize(
    ("length", "padded"),
    [
        (0, 8),
        (2, 8),
        (8, 8),
        (9, 16),
        (57, 64),
        (64, 64),
        (65, 128),
        (129, 200),
    ],
)
def test_lengths_are_padded_to_few(length, padded):
    assert padded_length(length, longest=200) == padded


@pytest.mark.parametrize(
    ("jit", "options", "expected"),
    [
        ("on", {}, 0),
        ("off", {"batch_size": 1}, None),
        ("auto", {}, None),
        ("auto", {"batch_size": 1}, USES_WORTH_COMPILING),
        ("auto", {"batch_size": 1, "precision": "bfloat16"}, None),
        ("auto", {"batch_size": 1, "precision": "int8"}, None),
        ("auto", {"sampling": True, "batch_size": 1}, None),
    ],
)
def test_when_a_processor_compiles(jit, options, expected, monkeypatch):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    assert when_to_compile(jit, DecodingConfig(**options)) == expected


def test_a_gpu_compiles_at_once(monkeypatch):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [1])
    assert when_to_compile("auto", DecodingConfig()) == 0
    assert when_to_compile("off", DecodingConfig()) is None


def test_int8_is_refused():
    with pytest.raises(InputError, match="int8 can't be compiled"):
        when_to_compile("on", DecodingConfig(precision="int8"))


def test_sampling_is_refused():
    with pytest.raises(InputError, match="sampling can't be compiled"):
        when_to_compile("on", DecodingConfig(sampling=True))


@pytest.mark.slow
def test_programs_are_kept_on_disk_and_damage_is_mended(tmp_path):
    program = """
import sys
from keras_transformer.translation.compiled import enable_disk_cache
assert str(enable_disk_cache()).startswith(sys.argv[1])
from tests.translation.test_compiled import TEXTS, both
compiled, expected = both(beam_size=int(sys.argv[2]))
found = compiled.translate(TEXTS)["translation"].numpy()
assert (found == expected.translate(TEXTS)["translation"].numpy()).all()
"""

    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    # Another test's search, compiled in this process, may have set it.
    environment.pop("TF_XLA_FLAGS", None)

    def translate(beam_size=1):
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path), str(beam_size)],
            env=environment,
            cwd=ROOT,
            check=True,
        )
        return {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.pb")}

    first = translate()
    assert len(first) == 1
    assert translate() == first
    path = next(iter(first))
    whole = path.read_bytes()
    path.write_bytes(whole[:5000])
    assert len(translate()) == 1
    assert len(next(tmp_path.rglob("*.pb")).read_bytes()) > 5000
    # Another search is another program.
    assert len(translate(beam_size=2)) == 2
