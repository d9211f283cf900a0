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

AUTO = "auto"  # chooses a preset by the data and the machine
CHOICES = "tatoeba", "domain", "base"  # the presets that AUTO chooses from
_DOMAIN_PAIRS = 50_000  # from this size on less dropout is better
# From this many pairs on, the paper's model is chosen if there is a GPU.
_MANY_PAIRS = 300_000
PRESETS = read_yaml(pathlib.Path(__file__).with_suffix(".yaml"))


def preset(name: str) -> Config:
    """Returns the configuration of a preset.

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
    """Chooses a preset for a corpus and a machine.

    `tatoeba` was measured on 27,000 pairs, and `domain` on 67,000 and 110,000.
    For many pairs on a GPU it is `base`, which was never trained to the end
    here; its paper measured it on 4.5 million pairs. No measurement suggests
    another model for more cores.

    Args:
        pairs: number of training pairs.
        gpu: whether the machine has a GPU or TPU.

    Returns:
        The preset's name, and the reason in words.
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
    """Applies changes to a preset; the last change wins.

    Args:
        name: the preset; None: the default.
        changes: pairs of `{section: {key: value}}` and its origin, for
            messages.
        default: the preset if `name` is None; None: the fields' defaults.
        taken_over: `{section: {key: value}}` from another run or data, used
            where neither the named preset nor a change sets a value.

    Raises:
        InputError: an unknown preset or key, or a value that isn't accepted.
    """
    base = name or default
    config = preset(base) if base else Config()
    named = PRESETS[name] if name else {}
    taken_over = {
        section: {
            k: v
            for k, v in part.items()
            # It depends on whether the data has one vocabulary or two.
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
        # Some values are valid only together, such as a language and its
        # tokenizer.
        with contextlib.suppress(InputError):
            return config.updated(_together(changes), "all settings")
        raise
    return changed


def settings_of(
    given: Mapping | str | os.PathLike | None,
) -> list[tuple[dict, str]]:
    """Returns settings from Python or a YAML file as a list of changes."""
    if given is None:
        return []
    if isinstance(given, str | os.PathLike):
        return [(read_yaml(given), os.fspath(given))]
    mapping(given, "config")
    return [(dict(given), "config")]


def _together(changes):
    """Merges changes, applied one after another, into one."""
    values: dict = {}
    for change, where in changes:
        mapping(change, where)
        for section, part in change.items():
            if not isinstance(part, dict):
                raise InputError(f"{where}: {section} must be a mapping")
            values[section] = {**values.get(section, {}), **part}
    return values
