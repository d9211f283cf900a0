"""Labels of versions, such as `stable` and `canary`, and their rollback.

The file `labels.json` is beside the versions, where the server ignores it;
`models.config`, which the server reads, is generated from it. The file is
replaced atomically, so readers see a change completely or not at all; a lock
serializes changes of several processes.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
from collections.abc import Iterator

from keras_transformer.contract.layout import SAVED_MODEL
from keras_transformer.errors import InputError
from keras_transformer.exporting.registry.version_folders import (
    version_folders,
    whole_versions,
)
from keras_transformer.system.files import read_json, write_json
from keras_transformer.system.locks import locked

FILE = "labels.json"
_LOCK, _WAIT = ".labels.lock", 10.0  # seconds
STABLE = "stable"

# Labels are part of request paths: /v1/models/NAME/labels/LABEL.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_REMEMBERED = 20


@dataclasses.dataclass(frozen=True)
class Labels:
    """The labels of a model.

    Attributes:
        versions: the version that each label names.
        earlier: the versions that each label named before, oldest first.
    """

    versions: dict[str, int] = dataclasses.field(default_factory=dict)
    earlier: dict[str, list[int]] = dataclasses.field(default_factory=dict)


def read_labels(base: str | os.PathLike) -> Labels:
    """Reads the labels of a model; there are none without a file.

    Raises:
        InputError: the file is damaged.
    """
    path = pathlib.Path(base) / FILE
    if not path.is_file():
        return Labels()
    values = read_json(path)
    named, earlier = values.get("versions"), values.get("earlier")
    if not (
        isinstance(named, dict)
        and isinstance(earlier, dict)
        and all(map(_NAME.fullmatch, (*named, *earlier)))
        and all(map(_is_version, named.values()))
        and all(map(_are_versions, earlier.values()))
    ):
        raise InputError(
            f"{path}: damaged. Accepted: what `keras-transformer versions` "
            "wrote"
        )
    return Labels(named, earlier)


def set_label(base: str | os.PathLike, name: str, version: int) -> Labels:
    """Makes a label name a version.

    Returns:
        The updated labels.

    Raises:
        InputError: the name isn't a valid label, or there is no such version.
    """
    require_name(name)
    with labels_locked(base):
        require_version(base, version)
        labels = read_labels(base)
        before = labels.versions.get(name)
        if before == version:
            return labels
        if before is not None:
            earlier = [*labels.earlier.get(name, []), before]
            labels.earlier[name] = earlier[-_REMEMBERED:]
        labels.versions[name] = version
        return _written(base, labels)


def remove_label(base: str | os.PathLike, name: str) -> Labels:
    """Removes a label; the version that it named stays.

    Raises:
        InputError: there is no such label.
    """
    with labels_locked(base):
        labels = read_labels(base)
        _require_label(base, labels, name)
        del labels.versions[name]
        labels.earlier.pop(name, None)
        return _written(base, labels)


def roll_back(base: str | os.PathLike, name: str = STABLE) -> Labels:
    """Makes a label name its previous version again.

    That is the latest version in its history that still exists; if there is
    none, the next lower version.

    Raises:
        InputError: there is no such label, or no version to roll back to.
    """
    with labels_locked(base):
        labels = read_labels(base)
        _require_label(base, labels, name)
        there = whole_versions(base)
        now = labels.versions[name]
        before = labels.earlier.get(name, [])
        earlier = [v for v in before if v in there and v != now]
        lower = [v for v in there if v < now]
        if not earlier and not lower:
            raise InputError(
                f"{base}: {name} names version {now}, and there is none to go "
                f"back to. It has: {_listed(there)}"
            )
        labels.versions[name] = earlier.pop() if earlier else max(lower)
        labels.earlier[name] = earlier
        return _written(base, labels)


@contextlib.contextmanager
def labels_locked(base: str | os.PathLike) -> Iterator[None]:
    """Locks a model's labels and versions against other processes.

    Raises:
        InputError: another process held the lock for more than 10 seconds.
    """
    base = pathlib.Path(base)
    if not base.is_dir():  # The block raises an error for this.
        yield
        return
    doing = "changes its labels. Accepted: to try again"
    with locked(base / _LOCK, base, doing, _WAIT):
        yield


def require_name(name: str) -> None:
    """Refuses a name that isn't a valid label.

    Raises:
        InputError: it isn't a letter followed by letters, digits, - and _.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            "a label is a letter, then letters, digits, - and _, at most 63. "
            f"Received: {name!r}"
        )


def require_version(base: str | os.PathLike, version: int) -> pathlib.Path:
    """Returns the folder of a version.

    Raises:
        InputError: it doesn't exist, or holds no SavedModel.
    """
    there = version_folders(base)
    if version not in there:
        raise InputError(
            f"{base}: no version {version}. It has: {_listed(there)}"
        )
    if not (there[version] / SAVED_MODEL).is_file():
        raise InputError(
            f"{there[version]}: not a version, as it has no {SAVED_MODEL}"
        )
    return there[version]


def _require_label(base, labels, name):
    if name not in labels.versions:
        raise InputError(
            f"{base}: no label {name!r}. It has: {_listed(labels.versions)}"
        )


def _listed(names):
    return ", ".join(map(str, sorted(names))) or "none"


def _written(base, labels):
    values = {
        "versions": dict(sorted(labels.versions.items())),
        "earlier": {n: e for n, e in sorted(labels.earlier.items()) if e},
    }
    write_json(pathlib.Path(base) / FILE, values)
    return Labels(**values)


def _is_version(value):
    return type(value) is int and 0 <= value < 2**63


def _are_versions(values):
    return isinstance(values, list) and all(map(_is_version, values))
