"""From a parallel corpus to a folder of ids: read, clean, split, encode.

The text is read once and cleaned into a work file; the tokenizers, which see
training text only, and the records are made from there.
"""

import dataclasses
import itertools
import json
import os
import shutil
from collections.abc import Iterable

import numpy as np

from keras_transformer.config import DataConfig
from keras_transformer.data.clean_text import (
    CHUNK,
    CleanText,
    Progress,
    clean_corpus,
    take_out,
)
from keras_transformer.data.corpus import CorpusFile, CorpusSpec, read_pairs
from keras_transformer.data.encoding import encode_split
from keras_transformer.data.folder import check_free, new_folder
from keras_transformer.data.prepared import (
    DEV_PAIRS,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    SOURCE_TOKENIZER,
    TARGET_TOKENIZER,
    PreparedData,
)
from keras_transformer.data.provenance import (
    describe_corpus,
    fingerprint,
    versions,
)
from keras_transformer.data.splitting import (
    Overlap,
    choose_dev,
    pair_keys,
    sentence_groups,
)
from keras_transformer.errors import InputError
from keras_transformer.text.build import build_tokenizer
from keras_transformer.text.chinese import is_chinese


def prepare(
    train: Iterable[CorpusSpec],
    out: str | os.PathLike,
    config: DataConfig,
    dev: CorpusSpec | float | None = None,
    progress: Progress | None = None,
) -> PreparedData:
    """Turns a parallel corpus into a folder of prepared data.

    The folder appears when all is written, or not at all. Memory is that of
    the vocabularies and some 30 bytes a pair (80 with a fraction as `dev`);
    on disk, the cleaned text stands beside the records until they are done.

    Of a dev file, pairs that are empty or over-long are left out and counted,
    nothing else: what is measured shouldn't depend on how training data is
    cleaned. With a fraction, the dev pairs come from the cleaned corpus, and
    count as read in dev, not in training.

    Args:
        train: corpus files, see `CorpusFile.parse`.
        out: the goal, a folder that doesn't exist or is empty.
        config: languages, tokenizers, cleaning.
        dev: a corpus file; or the share of the pairs to hold out, above 0
            and below 1; or None.
        progress: called with (stage, done, total or None), in pairs.

    Returns:
        The prepared data. Its `report` has `cleaning` (counts for `train`
        and `dev`), `dev_overlap` (pairs of a dev file of which a side stands
        in training), `vocabulary_sizes` and `dev_unknown_share` (unknown
        tokens over tokens), by side.

    Raises:
        InputError: `out` is taken or can't be written, a corpus file can't
            be used, or no pair is left. Nothing is left behind then.
    """
    files = [CorpusFile.parse(spec) for spec in train]
    dev = _parse_dev(dev)
    if not files:
        raise InputError("no training file. Accepted: one or more")
    check_free(out)
    inputs = {
        "train": describe_corpus(files),
        "dev": describe_corpus([dev]) if isinstance(dev, CorpusFile) else dev,
    }
    preparation = _Preparation(config, progress)
    with new_folder(out) as folder:
        work = folder / "work"
        work.mkdir()
        texts, overlap = preparation.clean(files, dev, work)
        results = preparation.encode(texts, folder)
        shutil.rmtree(work)
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "fingerprint": fingerprint(inputs["train"], inputs["dev"], config),
            "config": dataclasses.asdict(config),
            "counts": {name: text.report.kept for name, text in texts.items()},
            "report": {
                "cleaning": {
                    name: text.report.to_dict() for name, text in texts.items()
                },
                "dev_overlap": overlap,
                "vocabulary_sizes": results.vocabulary_sizes,
                "dev_unknown_share": results.dev_unknown_share,
            },
            "versions": versions(),
            "input": inputs,
            "splits": results.splits,
        }
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        (folder / MANIFEST).write_text(text, encoding="utf-8")
    return PreparedData.load(out)


@dataclasses.dataclass
class _Results:
    vocabulary_sizes: dict[str, int]
    splits: dict[str, dict]
    dev_unknown_share: dict[str, float] | None = None


class _Preparation:
    """The steps of `prepare`, each naming its stage to `progress`."""

    def __init__(self, config: DataConfig, progress: Progress | None):
        self._config = config
        self._progress = progress or (lambda stage, done, total: None)

    def clean(self, files, dev, work) -> tuple[dict[str, CleanText], int]:
        """The cleaned text of each split, and the overlap of a dev file."""
        if isinstance(dev, CorpusFile):
            return self._clean_with_dev_file(files, dev, work)
        keys = []
        train = self._clean_train(
            files,
            work,
            lambda pairs: keys.append(pair_keys(pairs)),
        )
        if dev is None:
            return {"train": train}, None
        groups = sentence_groups(np.concatenate(keys))
        chosen = choose_dev(groups, dev, self._config.seed)
        if not chosen.any() or chosen.all():
            raise InputError(
                f"dev fraction {dev:g} of {train.pairs} pairs in "
                f"{groups.max() + 1} sentence groups leaves a split empty. "
                "Accepted: a fraction that holds out one group or more, "
                "or a file"
            )
        train, held_out = take_out(train, chosen, work)
        return {"train": train, "dev": held_out}, None

    def _clean_with_dev_file(self, files, dev, work):
        keys = []
        dev_text = clean_corpus(
            dev.pairs(),
            work / "dev.tsv",
            self._config,
            self._stage("reading dev"),
            remove_duplicates=False,
            on_chunk=lambda pairs: keys.append(pair_keys(pairs)),
        )
        _require_pairs(dev_text, str(dev))
        overlap = Overlap(np.concatenate(keys))
        train = self._clean_train(
            files,
            work,
            lambda pairs: overlap.add(pair_keys(pairs)),
        )
        return {"train": train, "dev": dev_text}, overlap.count

    def _clean_train(self, files, work, on_chunk):
        text = clean_corpus(
            read_pairs(files),
            work / "train.tsv",
            self._config,
            self._stage("reading"),
            remove_duplicates=self._config.remove_duplicates,
            on_chunk=on_chunk,
        )
        _require_pairs(text, " ".join(map(str, files)))
        return text

    def encode(self, texts, folder) -> _Results:
        """Builds and saves the tokenizers; writes the records."""
        tokenizers = self._build_tokenizers(texts["train"])
        names = (SOURCE_TOKENIZER, TARGET_TOKENIZER)
        for name, tokenizer in zip(names, tokenizers, strict=True):
            tokenizer.save(folder / name)
        sizes = [tokenizer.vocabulary_size for tokenizer in tokenizers]
        results = _Results(
            dict(zip(("source", "target"), sizes, strict=True)), splits={}
        )
        for split, text in texts.items():
            is_dev = split == "dev"
            results.splits[split], tokens = encode_split(
                text,
                folder,
                split,
                tokenizers,
                self._config,
                self._stage(f"writing {split}", text.pairs),
                check_ratio=not is_dev,
                text_path=folder / DEV_PAIRS if is_dev else None,
            )
            _require_pairs(text, split)
            if is_dev:
                results.dev_unknown_share = tokens.unknown_share()
        return results

    def _build_tokenizers(self, text):
        config = self._config
        if config.shared_vocabulary:
            stage = self._stage("vocabulary", 2 * text.pairs)
            languages = (config.source_language, config.target_language)
            tokenizer = build_tokenizer(
                "sentencepiece",
                lambda: _counted(
                    itertools.chain(text.sources(), text.targets()), stage
                ),
                config,
                # Chinese on either side asks for its treatment.
                max(languages, key=is_chinese),
                config.source_vocabulary_size or config.target_vocabulary_size,
            )
            return tokenizer, tokenizer
        source_stage = self._stage("source vocabulary", text.pairs)
        target_stage = self._stage("target vocabulary", text.pairs)
        return (
            build_tokenizer(
                config.source_kind,
                lambda: _counted(text.sources(), source_stage),
                config,
                config.source_language,
                config.source_vocabulary_size,
            ),
            build_tokenizer(
                config.target_kind,
                lambda: _counted(text.targets(), target_stage),
                config,
                config.target_language,
                config.target_vocabulary_size,
            ),
        )

    def _stage(self, name, total=None):
        return lambda done: self._progress(name, done, total)


def _counted(lines, stage):
    count = 0
    for count, line in enumerate(lines, start=1):
        if count % CHUNK == 0:
            stage(count)
        yield line
    stage(count)


def _parse_dev(dev):
    """A corpus file, a fraction or None; a fraction may be text."""
    if dev is None:
        return None
    try:
        share = float(dev)
    except (TypeError, ValueError):
        return CorpusFile.parse(dev)
    if not 0 < share < 1:
        raise InputError(
            f"dev fraction {dev}. Accepted: above 0 and below 1, or a file"
        )
    return share


def _require_pairs(text, name):
    if text.report.kept:
        return
    if not text.report.read:
        raise InputError(f"{name}: no sentence pair. Accepted: one or more")
    raise InputError(f"{name}: no sentence pair is left ({text.report})")
