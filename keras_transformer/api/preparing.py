"""`prepare`: a parallel corpus to a folder of ids."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from keras_transformer.config.data import DataConfig
from keras_transformer.config.presets import AUTO, resolved, settings_of
from keras_transformer.errors import InputError

if TYPE_CHECKING:
    from keras_transformer.data.corpus import CorpusSpec
    from keras_transformer.data.mixing import WeightedCorpus
    from keras_transformer.data.pipeline import Progress
    from keras_transformer.data.prepared import PreparedData

# Who sets one of these has chosen the vocabularies.
_OF_VOCABULARIES = (
    "shared_vocabulary",
    "source_tokenizer",
    "target_tokenizer",
    "source_vocabulary_size",
    "target_vocabulary_size",
)


def prepare(
    train: WeightedCorpus | CorpusSpec | Iterable[WeightedCorpus | CorpusSpec],
    out: str | os.PathLike,
    config: DataConfig | Mapping | str | os.PathLike | None = None,
    dev: WeightedCorpus | CorpusSpec | float | None = None,
    progress: Progress | None = None,
    *,
    preset: str | None = None,
    tokenizers: str | os.PathLike | None = None,
    add_tokens: Sequence[str] = (),
    held_out: Iterable[CorpusSpec] = (),
    workers: int | None = None,
    load: Callable[[], None] | None = None,
    engine: str = "local",
    master: str | None = None,
    terms: str | os.PathLike | None = None,
    **data: Any,
) -> PreparedData:
    """Turns a parallel corpus into a folder of prepared data.

    Args:
        train: a corpus or several. A pair of files, one a side, is in a list:
            `[("train.en", "train.zh")]`.
        out: the folder, new or empty; or an address, see `remote`.
        config: what differs from the preset: a `DataConfig`, in its stead;
            `{"data": {key: value}}`; or a YAML file of that.
        dev: a corpus file; or the fraction of the pairs to hold out, above 0
            and below 1; or None.
        preset: whose data section is taken; None or "auto": SentencePiece,
            with one vocabulary where both languages are of one script.
        tokenizers: a run or prepared data whose tokenizers are used, and no
            new ones made.
        **data: values of the data section, such as `source_language="de"`.
            The languages have to be given, unless a preset, `tokenizers` or
            the names of files say them: `train.de-en.tsv`, or `train.de` and
            `train.en`.

    For the others, and what is returned and raised, see
    `keras_transformer.data.prepare.prepare`.

    Example:
        >>> data = prepare(
        ...     "train.tsv",
        ...     "data/en-de",
        ...     dev=0.02,
        ...     source_language="en",
        ...     target_language="de",
        ... )
        >>> data.counts
        {'train': 26679, 'dev': 534}
    """
    from keras_transformer.data import prepare as preparation

    several = preparation.as_corpora(train)
    if isinstance(config, DataConfig):
        if preset is not None:
            raise InputError(
                f"prepare takes a preset or a DataConfig. Received: {preset!r} "
                "and a DataConfig. Accepted beside a preset: values such as "
                'source_language="de"'
            )
        section = dataclasses.replace(config, **data)
    else:
        changes = [*settings_of(config), ({"data": data}, "prepare")]
        section = data_config(several, preset, changes, tokenizers)
    return preparation.prepare(
        several,
        out,
        section,
        dev,
        progress,
        tokenizers=tokenizers,
        add_tokens=add_tokens,
        held_out=held_out,
        workers=workers,
        load=load,
        engine=engine,
        master=master,
        terms=terms,
    )


def data_config(
    train: Sequence[WeightedCorpus],
    preset: str | None,
    changes: Sequence[tuple[dict, str]],
    tokenizers: str | os.PathLike | None = None,
) -> DataConfig:
    """The data section of a corpus, with its languages.

    Args:
        train: the corpora of training.
        preset: its name; None or "auto": see `prepare`.
        changes: `{"data": {key: value}}` and where it comes from.
        tokenizers: a run or prepared data whose tokenizers will be used.

    Raises:
        InputError: a value isn't accepted, or a language isn't said.
    """
    from keras_transformer.data.corpus_languages import (
        share_script,
        with_languages,
    )
    from keras_transformer.data.corpus_tokenizers import tokenizer_settings

    name = None if preset == AUTO else preset
    taken_over = None
    if tokenizers is not None:
        taken_over = {"data": tokenizer_settings(tokenizers)}
    section = resolved(name, changes, taken_over=taken_over).data
    section = with_languages(section, train)
    given = {key for change, _ in changes for key in change.get("data", {})}
    if name or tokenizers is not None or not given.isdisjoint(_OF_VOCABULARIES):
        return section
    return dataclasses.replace(section, shared_vocabulary=share_script(section))
