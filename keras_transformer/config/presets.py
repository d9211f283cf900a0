"""Named configurations, each a recipe: see `presets.yaml` beside this file."""

import contextlib
import difflib
import os
import pathlib
from collections.abc import Iterable, Mapping

from keras_transformer.config import Config
from keras_transformer.config.validation import mapping
from keras_transformer.errors import InputError
from keras_transformer.system.files import read_yaml

AUTO = "auto"  # a preset by the data and the machine
CHOICES = "tatoeba", "domain", "base"  # of which it is one
_DOMAIN_PAIRS = 50_000  # from which less dropout is better
# Pairs from which the paper's model is taken where there is a GPU.
_MANY_PAIRS = 300_000
PRESETS = read_yaml(pathlib.Path(__file__).with_suffix(".yaml"))


def preset(name: str) -> Config:
    """The configuration of that name.

    Raises:
        InputError: there is no such preset.
    """
    if name not in PRESETS:
        close = difflib.get_close_matches(str(name), PRESETS, n=1)
        hint = f", did you mean {close[0]!r}?" if close else "."
        raise InputError(
            f"unknown preset {name!r}{hint} Accepted: "
            f"{', '.join((AUTO, *PRESETS))}"
        )
    return Config().updated(PRESETS[name], f"preset {name}")


def chosen(pairs: int, gpu: bool) -> tuple[str, str]:
    """The preset for a corpus and a machine, and the reason.

    `tatoeba`, measured on 27,000 pairs, then `domain`, measured on 67,000 and
    110,000, and for many pairs on a GPU `base`, which was never trained to its
    end here and is measured in its paper, on 4.5 million pairs. No figure says
    that more cores want another model.

    Args:
        pairs: of training.
        gpu: whether the machine has one, or a TPU.
    """
    name = "tatoeba" if pairs < _DOMAIN_PAIRS else "domain"
    if gpu and pairs >= _MANY_PAIRS:
        name = "base"
    reason = f"{pairs:,} pairs, {'a' if gpu else 'no'} GPU: {name}"
    if name == "base":
        reason += ", the paper's model, not measured here"
    return name, reason


def resolved(
    name: str | None,
    changes: Iterable[tuple[dict, str]],
    *,
    default: str | None = None,
    taken_over: dict | None = None,
) -> Config:
    """A preset and what changes it, the last change winning.

    Args:
        name: of the preset; None: the default.
        changes: `{section: {key: value}}` and where it comes from.
        default: preset where none is named; None: the fields' defaults.
        taken_over: `{section: {key: value}}` from elsewhere, in place of
            values that neither the named preset nor a change sets.

    Raises:
        InputError: an unknown preset, key, or a value that isn't accepted.
    """
    base = name or default
    config = preset(base) if base else Config()
    named = PRESETS[name] if name else {}
    taken_over = {
        section: {
            k: v
            for k, v in part.items()
            # One vocabulary or two is the data's, not the preset's.
            if k == "tied_embeddings" or k not in named.get(section, {})
        }
        for section, part in (taken_over or {}).items()
    }
    config = config.updated(taken_over, "settings that were taken over")
    changes, changed = list(changes), config
    try:
        for values, where in changes:
            changed = changed.updated(values, where)
    except InputError:
        # Some values fit only once all are in, as a language and its tokenizer.
        with contextlib.suppress(InputError):
            return config.updated(_together(changes), "all settings")
        raise
    return changed


def settings_of(
    given: Mapping | str | os.PathLike | None,
) -> list[tuple[dict, str]]:
    """Settings given in Python, or in a YAML file, as a change of a preset."""
    if given is None:
        return []
    if isinstance(given, str | os.PathLike):
        return [(read_yaml(given), os.fspath(given))]
    mapping(given, "config")
    return [(dict(given), "config")]


def _together(changes):
    """One change that does what several do, one after another."""
    values: dict = {}
    for change, where in changes:
        mapping(change, where)
        for section, part in change.items():
            if not isinstance(part, dict):
                raise InputError(f"{where}: {section} must be a mapping")
            values[section] = {**values.get(section, {}), **part}
    return values
