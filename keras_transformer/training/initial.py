"""Starting a run from the weights of another: fine-tuning."""

import dataclasses

from keras_transformer.errors import InputError
from keras_transformer.training.weights import (
    copy_weights,
    read_notes,
    weights_path,
)

INITIAL = "initial"
_FROM = "best"

# Settings of the model that change neither a weight nor what it means.
_FREE = ("dropout", "attention_dropout", "feedforward_dropout")


def check_continues(config, prepared, initial):
    """Refuses a run that another run's weights don't fit.

    Args:
        config: `Config` of the new run.
        prepared: `PreparedData` of the new run.
        initial: `Run` to start from.

    Raises:
        InputError: the tokenizers or the models differ.
    """
    for side, described in initial.manifest["tokenizers"].items():
        tokenizer = getattr(prepared, f"{side}_tokenizer")
        if tokenizer.fingerprint() != described["fingerprint"]:
            raise InputError(
                f"{prepared.path}: its {side} tokenizer isn't the one of "
                f"{initial.folder} (the fingerprints differ). Accepted: data "
                f"prepared with --tokenizers {initial.folder}"
            )
    ours = dataclasses.asdict(config.model)
    theirs = dataclasses.asdict(initial.config.model)
    free = list(_FREE)
    if ours["positions"] == theirs["positions"] == "sinusoidal":
        free.append("max_length")
    differing = [
        f"model.{key} is {theirs[key]} there, {value} here"
        for key, value in ours.items()
        if value != theirs[key] and key not in free
    ]
    if differing:
        raise InputError(
            f"{initial.folder}: weights of another model "
            f"({'; '.join(differing)}). Accepted: the same model section, but "
            f"for {', '.join(free)}"
        )


def copy_initial(initial, folder) -> dict:
    """Copies the best weights of a run into the folder of a new one.

    A copy, so that the new run needs nothing from outside.

    Returns:
        what the new run's manifest says of them.

    Raises:
        InputError: there are no such weights, or they are damaged.
    """
    source = initial.weights_path(_FROM)
    notes = read_notes(source)
    digests = notes.pop("sha256", [None])
    copy_weights(source, weights_path(folder / "weights", INITIAL), notes)
    return {
        "run": str(initial.folder),
        "weights": _FROM,
        "epoch": notes.get("epoch"),
        "sha256": digests[-1],
        "data": initial.manifest["data"],
    }
