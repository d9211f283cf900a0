"""`translate_file`: translates the text of a document and keeps the rest."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping

from keras_transformer.api.loading import load
from keras_transformer.documents.formats import (
    FORMATS,
    LINES,
    format_of,
    open_document,
)
from keras_transformer.documents.glossary import Terms
from keras_transformer.errors import InputError
from keras_transformer.translation.documents import (
    require_no_markup,
    require_unpacked,
    write_translated,
)
from keras_transformer.translation.request import PROJECT, Truncations
from keras_transformer.translation.stream import (
    all_patterns,
    require_terms,
    with_glossary,
)
from keras_transformer.translation.texts import TextTranslator
from keras_transformer.translation.trained_run import TrainedRun


def translate_file(
    model: TextTranslator | str | os.PathLike,
    source: str | os.PathLike,
    target: str | os.PathLike,
    *,
    format: str | None = None,
    field: str | None = None,
    overwrite: bool = False,
    glossary: Terms | None = None,
) -> Mapping[str, int]:
    """Translates the text of a document and keeps everything else.

    Tags, placeholders and addresses in texts are placed with the translations
    of their words; that needs a run, or a model with symbols for them.

    Args:
        model: result of `load` or `train`, or the folder or address for it.
        source: file: .csv, .tsv, .jsonl, .docx, .html, .md, .po, .srt, .vtt,
            .tmx or .xliff.
        target: file that doesn't exist.
        format: name of a format, such as "md"; None: by the file's name.
        field: column of a table, or key of .jsonl, to translate;
            `NAME:TARGET` writes the translations to another one.
        overwrite: whether to translate texts that have a translation in a
            .po, .tmx or .xliff file, too.
        glossary: see `TextTranslator.translate`.

    Returns:
        the number of texts that were left as they are, by reason.

    Raises:
        InputError: a file can't be read or written, or isn't of its format.

    Warns:
        UserWarning: how many texts were truncated.

    Example:
        >>> run = keras_transformer.load("runs/en-de")
        >>> keras_transformer.translate_file(run, "help.md", "hilfe.md")
        {}
    """
    translator = model if isinstance(model, TextTranslator) else load(model)
    source, target = pathlib.Path(source), pathlib.Path(target)
    format = format or format_of(source)
    if format == LINES or format not in FORMATS:
        raise InputError(
            f"{source}: not a known format of documents. Accepted: "
            f"{', '.join(each for each in FORMATS if each != LINES)}"
        )
    require_unpacked(target)
    if os.path.lexists(target):
        raise InputError(f"{target}: exists. Accepted: the name of a new file")
    if not target.absolute().parent.is_dir():
        raise InputError(f"{target}: there is no such folder to write to")
    if glossary is not None:
        require_terms(translator.has_terms())
    data = translator.data()
    patterns = all_patterns(data, translator.placeholders or ())
    languages = None if data is None else data.languages
    document = open_document(source, format, languages, field, overwrite)
    if not translator.masks_markup():
        if isinstance(translator, TrainedRun):
            translator = translator.translating_by()
            translator.markup = PROJECT
        else:
            require_no_markup(document, str(source))
    truncations = Truncations()
    with translator.opened() as translate_batches:
        write_translated(
            document,
            target,
            with_glossary(translate_batches, glossary, patterns),
            translator.batch_size,
            truncations=truncations,
        )
    truncations.warn()
    return document.skipped
