"""Releases of a model: publishes, lists and removes its versions."""

import contextlib
import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import stat
from collections.abc import Callable

from keras_transformer.contract import layout
from keras_transformer.errors import InputError
from keras_transformer.exporting.registry.labels import (
    STABLE,
    labels_locked,
    read_labels,
)
from keras_transformer.exporting.registry.version_folders import (
    absolute,
    choose_version,
    find_saved_model,
    folder_size,
    version_folders,
    whole_versions,
)
from keras_transformer.exporting.verification.checks import (
    check_in_fresh_process,
    require_passed,
)
from keras_transformer.system.files import (
    LARGEST_JSON,
    new_folder,
    read_bytes,
    read_json,
    remove_folder,
)
from keras_transformer.system.leftovers import sweep


@dataclasses.dataclass(frozen=True)
class Release:
    """A version of a model, as listed by `list_releases`.

    Attributes:
        version: its number.
        path: its folder.
        labels: the labels that name it.
        served: True if a server with `models.config` loads it.
        created: when it was exported, ISO 8601; "" if unknown.
        size: bytes.
    """

    version: int
    path: pathlib.Path
    labels: list[str]
    served: bool
    created: str
    size: int

    def to_dict(self) -> dict:
        """Returns the release as a JSON-serializable dict."""
        return {**dataclasses.asdict(self), "path": str(self.path)}


def list_releases(base: str | os.PathLike) -> list[Release]:
    """Lists the versions of a model, the lowest first.

    Raises:
        InputError: `base` isn't a folder of versions, or a file in it is
            damaged.
    """
    _require_folder(base)
    named = sorted(read_labels(base).versions.items())
    served = served_versions(base)
    return [
        Release(
            version=version,
            path=path,
            labels=[name for name, labelled in named if labelled == version],
            served=version in served,
            created=_created(path),
            size=folder_size(path),
        )
        for version, path in version_folders(base).items()
    ]


def served_versions(base: str | os.PathLike) -> list[int]:
    """Returns the versions that a server loads, the lowest first.

    These are the labelled versions and those that their labels named last:
    the server moves a label only to a loaded version, so the old one answers
    until the new one is ready, and stays loaded for a rollback. Without
    labels: the latest version.
    """
    labels = read_labels(base)
    there = version_folders(base)
    if not labels.versions:
        return sorted(there)[-1:]
    before = {
        versions[-1]
        for name, versions in labels.earlier.items()
        if name in labels.versions and versions
    }
    return sorted({*labels.versions.values()} | (before & there.keys()))


def require_stable(
    base: str | os.PathLike, name: str, version: int | None = None
) -> None:
    """Refuses to publish under a first label that would take all requests.

    Once there are labels, a server loads only the versions that they name. A
    first label such as `canary` would unload the version served so far.

    Args:
        base: the model's folder.
        name: the label; `stable` may always be the first.
        version: the version to publish; None: one above the highest.

    Raises:
        InputError: there is another version and no label, or `version` is
            taken or invalid.
    """
    version = choose_version(base, version)
    served = served_versions(base)
    if name == STABLE or not served or read_labels(base).versions:
        return
    path = shlex.quote(str(base))
    raise InputError(
        f"{base}: {name} would be its first label, and servers load only what "
        f"labels name: version {version} would get all requests, and version "
        f"{served[-1]} would be unloaded. Accepted: first `keras-transformer "
        f"versions {path} label {STABLE} {served[-1]}`"
    )


def publish(
    source: str | os.PathLike,
    base: str | os.PathLike,
    version: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> pathlib.Path:
    """Copies a version folder from elsewhere into a model's folder.

    The copy passes the same checks as an export, and appears atomically.

    Args:
        source: a version folder, or a model's folder for its latest version.
        base: the model's folder; created if missing.
        version: the number of the copy; None: one above the highest.
        progress: called with a line before each long step.

    Returns:
        the new version folder.

    Raises:
        InputError: there is no SavedModel, the version exists, the folder
            can't be written, or a check failed.
    """
    progress = progress or (lambda line: None)
    source = find_saved_model(source)
    version = choose_version(base, version)
    target = pathlib.Path(base) / str(version)
    _require_own_files(source)
    with new_folder(target) as folder:
        progress(f"copying {source} to {target}")
        shutil.copytree(source, folder, dirs_exist_ok=True)
        # Copies of read-only folders couldn't be removed by `prune`.
        for path in (folder, *folder.rglob("*")):
            if path.is_dir():
                path.chmod(path.stat().st_mode | stat.S_IRWXU)
        progress("checking it in fresh processes")
        problem = f"{source} was refused, nothing was published"
        require_passed(check_in_fresh_process(folder), problem)
    return target


def _require_own_files(folder):
    """Refuses links to files outside the folder, and special files.

    Raises:
        InputError: names a link out of the folder or to a folder, a pipe, a
            socket or a device.
    """
    root = pathlib.Path(os.path.realpath(folder))
    for path in root.rglob("*"):
        target = pathlib.Path(os.path.realpath(path))
        is_folder = path.is_dir() and not path.is_symlink()
        is_own_file = target.is_file() and target.is_relative_to(root)
        if not (is_folder or is_own_file):
            raise InputError(
                f"{path}: not a file of this folder. Accepted: folders, files "
                "and links to files in it"
            )


def prune(
    base: str | os.PathLike, keep: int, dry_run: bool = False
) -> list[int]:
    """Removes old versions, never a served one or the latest.

    A version is renamed before its files are removed, so the server never sees
    half of it. A folder that is named like a version but has no SavedModel
    stays.

    Args:
        base: the model's folder.
        keep: how many of the highest versions to keep, 1 or more.
        dry_run: bool, whether to remove nothing.

    Returns:
        the versions that are (or would be) removed, the lowest first.

    Raises:
        InputError: `keep` is too small, or the folder can't be written.
    """
    _require_folder(base)
    if keep < 1:
        raise InputError(
            "the latest version is never removed, so 1 or more are kept. "
            f"Received: {keep}"
        )
    # Keeps other processes from labelling a version while it is removed.
    with contextlib.nullcontext() if dry_run else labels_locked(base):
        there = whole_versions(base)
        kept = {*sorted(there)[-keep:], *served_versions(base)}
        kept |= _versions_in_models_config(base)
        removed = [version for version in there if version not in kept]
        if not dry_run:
            sweep(base)  # Removes what a killed prune left behind.
            for version in removed:
                remove_folder(there[version])
    return removed


def _versions_in_models_config(base):
    """Returns versions named in models.config, which users may edit."""
    path = absolute(base).parent / "models.config"
    if not path.is_file():
        return set()
    text = read_bytes(path, largest=LARGEST_JSON).decode(errors="replace")
    # Matches `versions: 1` and `versions: [1, 2]`, but not `num_versions: 1`.
    lists = re.findall(r"\bversions\s*:\s*\[?([\d\s,]+)", text)
    return {int(n) for n in re.findall(r"\d{1,19}", " ".join(lists))}


def _require_folder(base):
    base = pathlib.Path(base)
    accepted = "Accepted: the folder that holds a model's versions"
    if not base.is_dir():
        problem = "is a file" if base.exists() else "doesn't exist"
        raise InputError(f"{base} {problem}. {accepted}")
    if (base / layout.SAVED_MODEL).exists():
        raise InputError(f"{base} is a version itself. {accepted}")


def _created(folder):
    path = folder / layout.DESCRIPTION
    return read_json(path).get("created", "") if path.is_file() else ""
