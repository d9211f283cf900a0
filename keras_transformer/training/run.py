"""A run: a self-contained folder with all parts of a trained model.

RUN/
  config.yaml                 the configuration as resolved
  manifest.json               versions, data, vocabulary sizes, scores
  source_tokenizer/  target_tokenizer/
  weights/best.weights.h5     best dev score      } each with a .json of
  weights/last.weights.h5     newest epoch        } epoch, scores, digest
  weights/average.weights.h5  mean of last epochs } (training.average_epochs,
  weights/epoch-0007...       each of them        }  whose epochs are kept)
  weights/initial.weights.h5  what it started from, if that was another run
  checkpoint.npz              for --resume
  history.jsonl               a line per epoch
  lock                        held by the process that trains it

The manifest has an id that is unique to the run; weights, checkpoint and
history have it, too.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import keras

from keras_transformer.config import Config
from keras_transformer.constants import SIDES
from keras_transformer.errors import InputError
from keras_transformer.models import build_transformer
from keras_transformer.models.stacks import copy_to_other_shape
from keras_transformer.system.files import (
    LARGEST_JSON,
    new_folder,
    read_bytes,
    read_json,
    write_json,
    write_text,
)
from keras_transformer.text.tokenizer import load_tokenizer
from keras_transformer.training import hosts
from keras_transformer.training.ownership import check_owner
from keras_transformer.training.preflight import (
    check_continues,
    check_fits,
    for_this_machine,
)
from keras_transformer.training.weights import (
    check_weights,
    copy_weights,
    load_weights,
    read_notes,
    require_size,
    save_weights,
    weights_path,
)
from keras_transformer.version import versions

if TYPE_CHECKING:
    from keras_transformer.data.prepared import PreparedData
    from keras_transformer.text.tokenizer import Tokenizer


FORMAT = 1
INITIAL = "initial"  # The weights that a run started from.
ALIGNMENT_HEAD = "alignment_head"  # See `Transformer`.


class Run:
    """A run folder. Made by `Run.create` or `Run.load`.

    Attributes:
        folder: `pathlib.Path`.
        config: `Config`, as resolved when the run began.
        manifest: dict, the content of `manifest.json`.
        source_tokenizer: `Tokenizer`.
        target_tokenizer: `Tokenizer`.
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        config: Config,
        manifest: dict,
        tokenizers: tuple[Tokenizer, Tokenizer],
    ) -> None:
        self.folder = pathlib.Path(folder)
        self.config = config
        self.manifest = manifest
        self.source_tokenizer, self.target_tokenizer = tokenizers
        source, target = tokenizers
        self._sizes = source.vocabulary_size, target.vocabulary_size

    def __repr__(self) -> str:
        data, best = self.config.data, self.manifest["scores"].get("best", {})
        epoch = f", best epoch {best['epoch']}" if "epoch" in best else ""
        return (
            f"{type(self).__name__}({str(self.folder)!r}, "
            f"{data.source_language} to {data.target_language}{epoch})"
        )

    @property
    def id(self) -> str:
        """The run's unique identifier."""
        return self.manifest["id"]

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike,
        config: Config,
        prepared: PreparedData,
        initial: Run | None = None,
    ) -> Self:
        """Starts a run folder for prepared data.

        Args:
            folder: path that doesn't exist yet or is empty.
            config: model, training and decoding; the data's part is
                replaced by what the data was prepared with.
            prepared: `PreparedData`.
            initial: a run whose best weights training starts from; None: random
                weights. It has the same tokenizers or fewer tokens, and the
                same model but for the numbers of layers
                (`copy_to_other_shape`).

        Raises:
            InputError: the folder isn't empty, or the data can't
                be trained on with this configuration or these weights.
        """
        folder = pathlib.Path(folder)
        config = for_this_machine(config)
        # Tokenizers are checked first: with those of `initial`, the data may
        # also pass the other checks.
        check_continues(config, prepared, initial)
        check_fits(config, prepared)
        config = dataclasses.replace(config, data=prepared.config)
        tokenizers = prepared.source_tokenizer, prepared.target_tokenizer
        manifest = new_manifest(
            prepared.fingerprint,
            prepared.counts,
            *tokenizers,
        )
        head = _alignment_head(config, initial)
        if head is not None:
            manifest[ALIGNMENT_HEAD] = head
        run = cls(folder, config, manifest, tokenizers)
        with new_folder(folder) as temporary:
            (temporary / "weights").mkdir()
            for side, tokenizer in zip(SIDES, tokenizers, strict=True):
                tokenizer.save(temporary / f"{side}_tokenizer")
            if initial is not None:
                manifest[INITIAL] = _copy_initial(initial, run, temporary)
            write_text(temporary / "config.yaml", config.to_yaml())
            write_json(temporary / "manifest.json", manifest)
        return run

    @classmethod
    def load(cls, folder: str | os.PathLike) -> Self:
        """Opens a run folder and checks that its parts fit.

        Raises:
            InputError: it is no run, or a part is missing, damaged or
                belongs elsewhere.
        """
        folder = pathlib.Path(folder)
        manifest = read_manifest(folder)
        config = Config.read(folder)
        tokenizers = []
        for side in SIDES:
            part = folder / f"{side}_tokenizer"
            tokenizer = load_tokenizer(part)
            expected = manifest["tokenizers"][side]["fingerprint"]
            if tokenizer.fingerprint() != expected:
                raise InputError(
                    f"{part}: this tokenizer doesn't fit the run's weights "
                    "(its fingerprint is not the one in manifest.json)"
                )
            tokenizers.append(tokenizer)
        source, target = tokenizers
        return cls(folder, config, manifest, (source, target))

    def build_model(self, **training_options: Any) -> keras.Model:
        """Builds an untrained model of the run's shape and precision.

        Args:
            training_options: `micro_batches` of `build_transformer`, which
                only matters in training.
        """
        head = self.manifest.get(ALIGNMENT_HEAD)
        policy = keras.config.dtype_policy()
        keras.config.set_dtype_policy(self.config.training.precision)
        try:
            return build_transformer(
                self.config.model,
                *self._sizes,
                alignment_head=head,
                **training_options,
            )
        finally:
            keras.config.set_dtype_policy(policy)

    def load_model(self, weights: str = "best") -> keras.Model:
        """The trained model.

        Args:
            weights: "best" (by `training.best_by`), "last" (newest epoch) or
                "average" (of the last `training.average_epochs` epochs).

        Raises:
            InputError: no such weights, or they are damaged or don't fit.
        """
        self.check_weights(weights)
        path = self.weights_path(weights)
        self.require_size(path)
        model = self.build_model()
        load_weights(path, model)
        return model

    def require_size(self, path: pathlib.Path) -> None:
        """Refuses a file that can't hold the weights of the run's model.

        Args:
            path: an existing file of weights, or checkpoint.

        Raises:
            InputError: it is too small for the configured model.
        """
        model = self.config.model
        least = model.least_parameters(*self._sizes)
        require_size(path, least, model.computed_numbers)

    def load_weights(self, weights: str, model: keras.Model) -> None:
        """Loads weights into a model of the run's shape.

        Raises:
            InputError: they are missing, damaged, of another shape or another
                run's.
        """
        self.check_weights(weights)
        load_weights(self.weights_path(weights), model)

    def check_weights(self, weights: str) -> None:
        """Refuses weights that are missing, damaged or another run's.

        Raises:
            InputError: names the file.
        """
        path = self.weights_path(weights)
        check_weights(path)
        check_owner(path, "weights", read_notes(path).get("run"), self.id)

    @hosts.by_chief
    def save_weights(
        self,
        model: keras.Model,
        weights: str,
        epoch: int,
        scores: Mapping[str, float],
        averaged_epochs: int | None = None,
    ) -> None:
        """Replaces a file of weights and its notes.

        Args:
            model: the model whose weights are saved.
            weights: name of the weights.
            epoch: int, counted from 1, at whose end they are saved.
            scores: `{name: float}`, their scores.
            averaged_epochs: number of epochs that they are the mean of, or
                None.
        """
        notes: dict = {"run": self.id, "epoch": epoch}
        notes["scores"] = _finite(scores)
        if averaged_epochs:
            notes["averaged_epochs"] = averaged_epochs
        save_weights(self.weights_path(weights), model, notes)

    @hosts.by_chief
    def promote_average(self) -> None:
        """Makes the average of epochs the best weights, with its scores."""
        path = self.weights_path("average")
        notes = read_notes(path)
        del notes["sha256"]
        copy_weights(path, self.weights_path("best"), notes)
        scores = notes.pop("scores")
        notes.pop("run", None)
        self.record_scores("best", {**notes, **scores})

    def weights_path(self, weights: str) -> pathlib.Path:
        """The file of weights, by their name."""
        return weights_path(self.folder / "weights", weights)

    def record_scores(self, name: str, scores: dict) -> None:
        """Replaces the scores of a name in the manifest.

        Args:
            name: "best" for those of the best epoch, else of a test set.
            scores: JSON-able.
        """
        self.manifest["scores"][name] = _finite(scores)
        if hosts.is_chief():
            write_json(self.folder / "manifest.json", self.manifest)

    def history(self) -> list[dict]:
        """A dict per finished epoch: epoch, losses, rate, seconds.

        Raises:
            InputError: it is damaged, or another run's.
        """
        path = self.folder / "history.jsonl"
        if not path.is_file():
            return []
        content = read_bytes(path, largest=LARGEST_JSON)
        try:
            lines = content.decode().splitlines()
            epochs = [dict(json.loads(line)) for line in lines]
            for epoch in epochs:
                numbers = [epoch["epoch"], *{**epoch, "run": 0}.values()]
                if not all(isinstance(one, int | float) for one in numbers):
                    raise TypeError
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InputError(f"{path}: damaged, not JSON lines") from None
        for epoch in epochs:
            check_owner(path, "history", epoch.pop("run", None), self.id)
        return epochs

    def write_history(self, epochs: list[dict]) -> None:
        """Replaces the history."""
        lines = [
            json.dumps({"run": self.id, **_finite(epoch)}, ensure_ascii=False)
            for epoch in epochs
        ]
        write_text(self.folder / "history.jsonl", "\n".join([*lines, ""]))


def _finite(scores: Mapping) -> dict:
    """Scores without NaN and infinite ones, which JSON can't represent."""
    return {
        name: score
        for name, score in scores.items()
        if not isinstance(score, float) or math.isfinite(score)
    }


def new_manifest(
    fingerprint: str, counts: dict, *tokenizers: Tokenizer
) -> dict:
    """The manifest of a new run, without scores.

    Args:
        fingerprint: of the data.
        counts: its numbers of pairs, by split.
        tokenizers: of the source and of the target.
    """
    return {
        "format": FORMAT,
        "id": uuid.uuid4().hex,
        "versions": versions(),
        "data": {"fingerprint": fingerprint, "counts": counts},
        "tokenizers": {
            side: {
                "vocabulary_size": tokenizer.vocabulary_size,
                "fingerprint": tokenizer.fingerprint(),
            }
            for side, tokenizer in zip(SIDES, tokenizers, strict=True)
        },
        "scores": {},
    }


def _alignment_head(config, initial) -> list[int] | None:
    """The layer and head that are trained to align, or were in `initial`.

    A head of the last layer but one, whose attention is closest to alignments
    even without guidance (Garg et al. 2019, section 4.1).
    """
    if config.training.guided_alignment:
        return [max(config.model.num_decoder_layers - 2, 0), 0]
    if initial is None or initial.config.model.depths != config.model.depths:
        return None
    return initial.manifest.get(ALIGNMENT_HEAD)


def read_manifest(folder: str | os.PathLike) -> dict:
    """The manifest in a run's folder.

    Raises:
        InputError: the folder is no run's, or the manifest is damaged.
    """
    path = pathlib.Path(folder) / "manifest.json"
    manifest = read_json(path) if path.is_file() else None
    if manifest is None or "splits" in manifest:
        kind = "prepared data, not a run"
        if manifest is None:
            kind = "not a run folder (no manifest.json)"
        raise InputError(
            f"{folder}: {kind}. Expected what `keras-transformer train --out` "
            "wrote"
        )
    if not _is_of_a_run(manifest):
        raise InputError(f"{path}: damaged, or not of a run of format {FORMAT}")
    return manifest


def _is_of_a_run(manifest):
    try:
        return (
            manifest["format"] == FORMAT
            and isinstance(manifest["id"], str)
            and isinstance(manifest["data"]["fingerprint"], str)
            and isinstance(manifest["scores"], dict)
            and isinstance(manifest.get(INITIAL, {}), dict)
            and isinstance(manifest.get("imported", {}), dict)
            and all(manifest["tokenizers"][s]["fingerprint"] for s in SIDES)
        )
    except (KeyError, TypeError):
        return False


def _new_tokens(old, new) -> list[list[int]]:
    """For each token that `new` adds, the ids of its pieces in `old`."""
    return old.pieces_of_tokens(new.tokens()[old.vocabulary_size :])


def _copy_initial(initial, run, folder) -> dict:
    """Copies a run's best weights to a new run, written to `folder`.

    Returns their entry in the manifest of `run`.
    """
    source = initial.weights_path("best")
    initial.check_weights("best")
    notes = read_notes(source) | {"run": run.id}
    digests = notes.pop("sha256", [None])
    path = weights_path(folder / "weights", INITIAL)
    new_tokens = {
        "source": _new_tokens(initial.source_tokenizer, run.source_tokenizer),
        "target": _new_tokens(initial.target_tokenizer, run.target_tokenizer),
    }
    depths = initial.config.model.depths
    if depths == run.config.model.depths and not any(new_tokens.values()):
        copy_weights(source, path, notes)
    else:
        model = run.build_model()
        copy_to_other_shape(initial.load_model("best"), model, new_tokens)
        save_weights(path, model, notes)
    before = initial.manifest.get(INITIAL, {})
    imported = initial.manifest.get("imported") or before.get("imported")
    return {
        **({"imported": imported} if imported else {}),
        "run": str(initial.folder),
        "id": initial.id,
        "weights": "best",
        "epoch": notes.get("epoch"),
        "sha256": digests[-1],
        "data": initial.manifest["data"],
    }
