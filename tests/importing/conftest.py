"""Small models of other programs, and the runs that they become."""

import dataclasses
import gzip
import itertools
import json
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.constants import PAD_ID, SIDES, START_ID
from keras_transformer.errors import InputError
from keras_transformer.importing.hugging_face import read_hugging_face
from keras_transformer.importing.run import import_run
from keras_transformer.importing.vocabulary import new_order
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.training.run import Run
from keras_transformer.translation.translator import Translator
from tests.importing import safetensors

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
MARIAN = ("base", "big", "separate")
TAGS = {"m2m100": ("en", "zh"), "nllb": ("eng_Latn", "zho_Hans")}
LONGEST = 59  # transformers' limit of 60, less its start


def unpack(kind, folder):
    """A folder as its program would have written it."""
    shutil.copytree(FIXTURES / kind, folder)
    for side in ("source", "target"):
        packed = (FIXTURES / f"{side}.spm.gz").read_bytes()
        (folder / f"{side}.spm").write_bytes(gzip.decompress(packed))
    return folder


def languages(kind):
    """Options of `import_run`."""
    source, target = TAGS.get(kind, ("eng", "zho"))
    return {"source_language": source, "target_language": target}


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """The folders, by their kinds; not to be changed."""
    base = tmp_path_factory.mktemp("marian")
    kinds = (*MARIAN, "original", "opennmt", "opennmt_shared")
    packed = {kind: unpack(kind, base / kind) for kind in kinds}
    return packed | {kind: FIXTURES / kind for kind in TAGS}


@pytest.fixture
def copy(folders, tmp_path):
    """Copies a folder, to be damaged."""

    def make(kind="base"):
        return shutil.copytree(folders[kind], tmp_path / kind)

    return make


@pytest.fixture
def import_changed(copy, tmp_path):
    """Imports a copy of a folder that a function has changed."""

    def make(kind, change, **options):
        folder = copy(kind)
        change(folder)
        return import_run(
            folder, tmp_path / "run", **(languages(kind) | options)
        )

    return make


@pytest.fixture
def refuses(import_changed, tmp_path):
    """Checks that a changed folder is refused in a line, and nothing left."""

    def check(kind, change, reason, **options):
        with pytest.raises(InputError, match=reason) as caught:
            import_changed(kind, change, **options)
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "run").exists()

    return check


@pytest.fixture
def write(tmp_path):
    """Writes bytes to a file of that name; returns its path."""

    def make(content, name="model.safetensors"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return make


@pytest.fixture
def refuses_file(write):
    """Checks that a function refuses to read what a file has, in a line."""

    def check(read, content, reason):
        with pytest.raises(InputError, match=reason) as caught:
            read(write(content))
        assert "\n" not in str(caught.value)

    return check


def by_reason(value):
    """Name of a parameter: contents of files are too long for one."""
    return value if isinstance(value, str) else "content"


@pytest.fixture(scope="session")
def import_of(tmp_path_factory, folders):
    """Imports a folder; each but once."""
    runs = {}

    def make(kind, positions="tensor2tensor", **options):
        key = (kind, positions, *options.items())
        if key not in runs:
            out = tmp_path_factory.mktemp("imported") / "run"
            options = languages(kind) | options
            runs[key] = import_run(folders[kind], out, positions, **options)
        return runs[key]

    return make


class References:
    """What transformers makes of sentences, in this package's ids.

    Args:
        folder: with `references.json` and `logits.npz`.

    Attributes:
        order: ids there by those here, of the target.
        sources, targets: sentences.
        ids: those of each side, without START.
        searches: what a search by its name ended with.
        source_ids, target_ids: of the sentences of `logits`.
    """

    def __init__(self, folder):
        model = read_hugging_face(folder)
        sides = zip(
            model.vocabularies, model.paddings, model.starts, strict=True
        )
        orders = [new_order(*side) for side in sides]
        self.order = orders[1]
        self._ours = dict(zip(SIDES, map(_inverted, orders), strict=True))
        values = json.loads((folder / "references.json").read_text("utf-8"))
        if folder.name == "nllb":
            # transformers' tokenizer of NLLB leaves several spaces as they
            # are, if its model has no table of normalisation. Real ones have.
            kept = ["  " not in text for text in values["sources"]]
            values = {
                k: [*itertools.compress(v, kept)] for k, v in values.items()
            }
        self.sources, self.targets = values["sources"], values["targets"]
        self.ids = {
            side: [
                self.translated(row, side)[:-1] for row in values[f"{side}_ids"]
            ]
            for side in SIDES
        }
        self.searches = values
        arrays = np.load(folder / "logits.npz")
        # START, which nobody sees here, isn't there at all.
        self.source_ids = self._started(arrays["source"], "source")
        self.target_ids = self._started(arrays["target"], "target")[:, :-1]
        self._logits = arrays["logits"][..., self.order]

    def translated(self, ids, side="target"):
        """Ids of transformers in those of this package."""
        return self._ours[side][np.array(ids, int)].tolist()

    def assert_ids(self, run, side):
        """Those of transformers, some of them unknown."""
        tokenizer = getattr(run, f"{side}_tokenizer")
        ids = tokenizer.tokenize(getattr(self, f"{side}s")).to_list()
        assert ids == self.ids[side]
        assert any(1 in row for row in ids)

    def assert_logits(self, run):
        """Those of transformers, from the model and from its steps."""
        real = self.target_ids != PAD_ID
        known = np.arange(len(self.order)) != START_ID
        expected = self._logits[real][:, known]
        for logits in logits_of(run, self):
            ours = logits[real][:, known]
            np.testing.assert_allclose(ours, expected, atol=1e-4)

    def _started(self, ids, side):
        ids = self._ours[side][ids]
        return np.pad(ids, ((0, 0), (1, 0)), constant_values=START_ID)


def _inverted(order):
    """Ids here by those there; the copy for START is left out."""
    ours = {old: new for new, old in enumerate(order) if new != START_ID}
    return np.array([ours[i] for i in range(len(ours))])


def logits_of(run, references):
    """Those of the whole model and those of its steps, of a run as saved."""
    model = Run.load(run.folder).load_model()
    ids = {
        f"{side}_ids": tf.constant(getattr(references, f"{side}_ids"), tf.int32)
        for side in SIDES
    }
    steps, _ = IncrementalTransformer(model).predict(*ids.values())
    return np.array(model(ids, training=False)), np.array(steps)


def search(run, sources, beam_size):
    """The best ids, END included where it was reached, and their scores."""
    config = dataclasses.replace(
        run.config.decoding,
        beam_size=beam_size,
        max_length_ratio=0.0,
        max_length_offset=LONGEST,
    )
    translator = Translator.from_run(run, run.load_model(), config)
    source = translator.prepare(tf.constant(sources))
    result = translator.search(source, num_hypotheses=1)
    ids = [row[row != PAD_ID].tolist() for row in result.ids.numpy()[:, 0]]
    return ids, result.scores.numpy()[:, 0].tolist()


def given(name="config.json", **values):
    """A change: other values in a JSON file."""

    def change(folder):
        path = folder / name
        before = json.loads(path.read_text()) if path.is_file() else {}
        path.write_text(json.dumps(before | values))

    return change


def retensored(make):
    """A change: of the weights to what a function makes of them."""

    def change(folder):
        path = folder / "model.safetensors"
        safetensors.write(path, make(safetensors.read(path)))

    return change


@pytest.fixture(scope="session")
def references():
    """`References` by the names of their folders."""
    return {kind: References(FIXTURES / kind) for kind in (*MARIAN, *TAGS)}
