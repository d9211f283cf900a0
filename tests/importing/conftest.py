"""Small models of other programs, and the runs that they become."""

import gzip
import json
import pathlib
import shutil

import numpy as np
import pytest

from keras_transformer.importing.run import import_run
from keras_transformer.importing.vocabulary import new_order, read_vocabulary

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
KINDS = ("base", "big", "separate", "original")
OTHERS = ("opennmt", "opennmt_shared")
LANGUAGES = {"source_language": "eng", "target_language": "zho"}


def unpack(kind, folder):
    """A folder as its program would have written it."""
    shutil.copytree(FIXTURES / kind, folder)
    for side in ("source", "target"):
        packed = (FIXTURES / f"{side}.spm.gz").read_bytes()
        (folder / f"{side}.spm").write_bytes(gzip.decompress(packed))
    return folder


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """The folders, by their kinds; not to be changed."""
    base = tmp_path_factory.mktemp("marian")
    return {kind: unpack(kind, base / kind) for kind in (*KINDS, *OTHERS)}


@pytest.fixture
def copy(folders, tmp_path):
    """Copies a folder, to be damaged."""

    def make(kind="base"):
        return pathlib.Path(shutil.copytree(folders[kind], tmp_path / kind))

    return make


@pytest.fixture(scope="session")
def import_of(tmp_path_factory, folders):
    """Imports a folder; each but once."""
    runs = {}

    def make(kind, positions="tensor2tensor", **options):
        key = (kind, positions, *options.items())
        if key not in runs:
            out = tmp_path_factory.mktemp("imported") / "run"
            options = {**LANGUAGES, **options}
            runs[key] = import_run(folders[kind], out, positions, **options)
        return runs[key]

    return make


class References:
    """What transformers makes of sentences, in this package's ids."""

    def __init__(self, folder):
        values = json.loads((folder / "references.json").read_text("utf-8"))
        source, target = self._translations(folder)
        self.order = target[0]
        self._ours = {"source": source[1], "target": target[1]}
        self.sources, self.targets = values["sources"], values["targets"]
        self.ids = {
            side: [
                self.translated(row, side)[:-1] for row in values[f"{side}_ids"]
            ]
            for side in ("source", "target")
        }
        self.searches = {name: values[name] for name in ("greedy", "beam")}
        arrays = np.load(folder / "logits.npz")
        # START, which nobody sees here, isn't there at all.
        self.source_ids = self._started(arrays["source"], "source")
        self.target_ids = self._started(arrays["target"], "target")[:, :-1]
        self.logits = arrays["logits"][..., self.order]

    def _translations(self, folder):
        """For each side ids there by those here, and the other way round."""
        names = ["vocab.json", "target_vocab.json"]
        if not (folder / names[1]).is_file():
            names[1] = names[0]
        for name in names:
            vocabulary = read_vocabulary(folder / name)
            padding = vocabulary["<pad>"]
            order = new_order(vocabulary, padding, padding)
            ours = {old: new for new, old in enumerate(order)}
            ours[padding] = 0
            yield order, np.array([ours[i] for i in range(len(ours))])

    def translated(self, ids, side="target"):
        """Ids of transformers in those of this package."""
        return self._ours[side][np.array(ids, int)].tolist()

    def _started(self, ids, side):
        ids = self._ours[side][ids]
        return np.pad(ids, ((0, 0), (1, 0)), constant_values=2)


@pytest.fixture(scope="session")
def references():
    return {kind: References(FIXTURES / kind) for kind in KINDS[:3]}
