"""`load`: opens a run, an export or a served model to translate with."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.documents.markup import checked_placeholders
from keras_transformer.errors import InputError, require_kind, shown
from keras_transformer.translation.request import KEEP, PROJECT
from keras_transformer.translation.texts import TextTranslator

if TYPE_CHECKING:
    from keras_transformer.data.corpus import Pairs

SERVER_TIMEOUT = 60.0  # seconds
# TensorFlow Serving's default name.
SERVER_MODEL = "default"
_ACCEPTED = (
    "Accepted: the folder of a run or of an export, or a server's address such "
    "as http://127.0.0.1:8501/v1/models/en-zh"
)
_OF_MODEL = re.compile(
    r"(?P<server>.*?)/v1/models/(?P<model>[^/:]+)"
    r"(/versions/(?P<version>[0-9]{1,18})|/labels/(?P<label>[^/:]+))?"
    r"(/|:predict)?"
)


def load(
    where: str | os.PathLike,
    *,
    weights: str | None = None,
    decoding: DecodingConfig | None = None,
    model: str | None = None,
    version: int | None = None,
    label: str | None = None,
    timeout: float = SERVER_TIMEOUT,
    ensemble: Sequence[str | os.PathLike] | str | os.PathLike | None = None,
    shortlist: Pairs | None = None,
    placeholders: Sequence[str] = (),
    markup: str | None = None,
) -> TextTranslator:
    """Opens a run, an export, or a model on a server to translate with.

    All of them have the same interface: see `TextTranslator.translate`.

    Args:
        where: the folder of a run; of an export, for TensorFlow Serving (a
            version, or the folder of versions, of which the newest is taken)
            or for CTranslate2; or the address of a server, `http://HOST:8501`
            or `grpc://HOST:8500`, optionally followed by `/v1/models/NAME`.
        weights: of a run, "best" (if None), "last" or "average".
        decoding: the search of a run or with CTranslate2; None: the model's
            own.
        model: its name on the server; None: the name in the address, or
            "default".
        version: of the model on the server; None: the latest.
        label: of a version on the server, such as "stable".
        timeout: seconds for a request to the server, with its retries.
        ensemble: folders of runs that translate together with a run, by the
            mean of their probabilities; trained on the same prepared data.
        shortlist: pairs of sentences, or files of them, which restrict the
            search of a run to the tokens that they suggest; None: no shortlist.
        placeholders: regular expressions of a user's own markup, such as
            `~(?=\\w)`, for models with symbols for markup and for "project".
        markup: how a run handles tags and placeholders: "project": placed by
            the alignment; "keep": translated like other text; None: symbols
            stand for them, if the model has any, else "keep".

    Returns:
        a `TrainedRun`, a `SavedTranslator`, a `CTranslate2Translator` or a
        `RemoteTranslator`.

    Raises:
        InputError: `where` isn't a model, is damaged, or doesn't take one of
            the arguments.

    Example:
        >>> load("saved_models/en-zh").translate("I like tea.")
        '我喜欢茶。'
    """
    if not isinstance(where, str | os.PathLike):
        raise InputError(f"load takes a path. Received: {where!r}. {_ACCEPTED}")
    require_kind(decoding, DecodingConfig, "decoding")
    name = os.fspath(where)
    patterns = checked_placeholders(placeholders)
    of_run = {"ensemble": ensemble, "shortlist": shortlist, "markup": markup}
    if markup not in (None, KEEP, PROJECT):
        raise InputError(
            f"markup must be {KEEP!r} or {PROJECT!r}. Received: {shown(markup)}"
        )
    of_server = {"model": model, "version": version, "label": label}
    if "://" in name:
        _refuse(name, weights=weights, decoding=decoding, **of_run)
        return _served(name, of_server, timeout, patterns)
    _refuse(name, **of_server)
    folder = pathlib.Path(where)
    if (folder / "config.yaml").is_file():
        run = _run(folder, weights, decoding, ensemble or (), shortlist)
        run.placeholders, run.markup = patterns, markup
        return run
    _refuse(name, weights=weights, **of_run)
    if (folder / "keras_transformer.json").is_file():
        return _ctranslate2(folder, decoding, patterns)
    _refuse(name, decoding=decoding)
    return _export(folder, patterns)


def _run(folder, weights, decoding, ensemble, shortlist):
    from keras_transformer.training.weights import require_name
    from keras_transformer.translation.trained_run import TrainedRun

    require_name(weights)
    run = TrainedRun.load(folder).translating_by(
        weights, decoding, ensemble, shortlist
    )
    run.check_weights(run.weights)
    return run


def _ctranslate2(folder, decoding, placeholders):
    from keras_transformer.exporting.ctranslate2_translator import (
        CTranslate2Translator,
    )
    from keras_transformer.system.machine import usable_cores

    return CTranslate2Translator(
        folder, decoding, usable_cores(), placeholders=placeholders
    )


def _export(folder, placeholders):
    from keras_transformer.exporting.registry.version_folders import (
        find_saved_model,
    )
    from keras_transformer.exporting.saved_translator import SavedTranslator

    try:
        folder = find_saved_model(folder)
    except InputError:
        problem = "doesn't exist"
        if folder.exists():
            problem = "neither a run nor an export"
        raise InputError(f"{folder}: {problem}. {_ACCEPTED}") from None
    return SavedTranslator(folder, placeholders=placeholders)


def model_of(address: str, **named: Any) -> tuple[str, dict]:
    """Splits an address into that of the server and the model's name.

    Args:
        address: of a server, optionally followed by `/v1/models/NAME`.
        **named: model, version and label; None if not given.

    Returns:
        the server's address, and model, version and label.

    Raises:
        InputError: one of them differs from the address.
    """
    url = address
    if match := _OF_MODEL.fullmatch(address):
        url = match["server"]
        for key in filter(match.group, named):
            value = int(match[key]) if key == "version" else unquote(match[key])
            if named[key] not in (None, value):
                raise InputError(
                    f"{address} names its {key}. Received: {named[key]!r}"
                )
            named[key] = value
    named["model"] = named["model"] or SERVER_MODEL
    return url, named


def _served(address, of_server, timeout, placeholders):
    from keras_transformer.serving.client.remote_translator import (
        RemoteTranslator,
    )

    url, named = model_of(address, **of_server)
    translator = RemoteTranslator(
        url, **named, timeout=timeout, placeholders=placeholders
    )
    # Raises an error for an unreachable server now, not at the first text.
    with translator.opened():
        return translator


def _refuse(name, **given):
    """Refuses arguments that are for another kind of model."""
    for key, value in given.items():
        if value is not None:
            raise InputError(
                f"{key} doesn't go with {name}. Received: {value!r}. Accepted: "
                "weights, ensemble and shortlist with a run; decoding with a "
                "run or CTranslate2; model, version and label with a server's "
                "address"
            )
