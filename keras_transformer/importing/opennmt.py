"""Import of OpenNMT-tf's runs: TensorFlow 2 checkpoint, vocabularies, settings.

Values that can't be derived from the weights, such as the number of heads, are
in the model's description. It is a Python file, which is parsed but never run.

References: OpenNMT-tf's `opennmt/models/transformer.py`,
`opennmt/models/catalog.py` and `opennmt/layers/position.py`.
"""

import ast
import pathlib
import re

from keras_transformer.constants import SIDES
from keras_transformer.errors import InputError, shown
from keras_transformer.importing.folders import (
    LARGEST_YAML,
    check_files,
    inside,
    read_head,
    read_yaml,
)
from keras_transformer.importing.foreign import (
    ForeignModel,
    refused,
    require_understood,
    without_counterpart,
)
from keras_transformer.importing.raw_tensors import read_checkpoint
from keras_transformer.importing.vocabulary import read_lines
from keras_transformer.system.files import read_bytes

_PROGRAM = "OpenNMT-tf"
_DESCRIPTION = "model_description.py"
_CHECKPOINT = re.compile(r"ckpt-(\d+)\.index")
_SPECIAL = ("<blank>", "<s>", "</s>")
_MAX_LENGTH = 512
_EPSILON = 1e-3  # Keras' default for layer normalisation, as in OpenNMT-tf.
_LARGEST_DESCRIPTION = 1 << 20  # bytes

# Positional arguments of OpenNMT-tf's Transformer.
_ARGUMENTS = (
    "source_inputter target_inputter num_layers num_units num_heads "
    "ffn_inner_dim dropout attention_dropout ffn_dropout ffn_activation"
).split()
# Arguments that the models of its catalog set, as far as they matter here.
_CATALOG: dict[str, dict] = {
    "Transformer": {},
    "TransformerBase": {},
    "TransformerBaseSharedEmbeddings": {},
    "TransformerBig": {"num_heads": 16},
    "TransformerBigSharedEmbeddings": {"num_heads": 16},
    "TransformerTiny": {"num_heads": 2},
    "ScalingNmtEnDe": {"num_heads": 16, "dropout": 0.3},
    "ScalingNmtEnFr": {"num_heads": 16},
}
_UNDERSTOOD = {
    "position_encoder_class": "SinusoidalPositionEncoder",
    "maximum_relative_position": None,
}

# Settings that searches here don't have, with the values that turn them off.
_NEUTRAL = {"coverage_penalty": 0, "decoding_noise": 0, "sampling_topk": 1}

_VARIABLE = re.compile(
    r"(encoder|decoder)/layers/(\d+)/(self_attention|attention/0|ffn)/"
    r"(?:layer/(\w+)|(?:in|out)put_layer_norm)/(kernel|bias|gamma|beta)"
)
_SUBLAYERS = {
    "self_attention": "self_attn",
    "attention/0": "encoder_attn",
    "ffn": "final",
}
_LINEAR = {
    "linear_queries": "q_proj",
    "linear_keys": "k_proj",
    "linear_values": "v_proj",
    "linear_output": "out_proj",
    "inner": "fc1",
    "outer": "fc2",
}
_PARTS = {"kernel": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}
_SOURCE = "model.encoder.embed_tokens.weight"
_TARGET = "model.decoder.embed_tokens.weight"
_SHARED = "model.shared.weight"
_FINAL_NORM = "model.encoder.layer_norm.weight"
_OTHERS = {
    "encoder/layer_norm/gamma": _FINAL_NORM,
    "encoder/layer_norm/beta": "model.encoder.layer_norm.bias",
    "decoder/layer_norm/gamma": "model.decoder.layer_norm.weight",
    "decoder/layer_norm/beta": "model.decoder.layer_norm.bias",
    "examples_inputter/features_inputter/embedding": _SOURCE,
    "examples_inputter/labels_inputter/embedding": _TARGET,
    "decoder/output_layer/kernel": "lm_head.weight",
    "decoder/output_layer/bias": "final_logits_bias",
}


def find_settings(folder: pathlib.Path) -> pathlib.Path | None:
    """Finds the YAML file that names vocabularies; None if there is none.

    Raises:
        InputError: there are several.
    """
    named = [
        path
        for path in sorted((*folder.glob("*.yml"), *folder.glob("*.yaml")))
        if "source_vocabulary" in read_head(path, LARGEST_YAML)
    ]
    if len(named) > 1:
        raise InputError(
            f"{folder}: {len(named)} files with source_vocabulary, such as "
            f"{named[0].name} and {named[1].name}. Accepted: one"
        )
    return named[0] if named else None


def read_opennmt(folder: pathlib.Path) -> ForeignModel:
    """Reads a folder with OpenNMT-tf's settings, vocabularies and checkpoint.

    Args:
        folder: folder of the YAML file used for training, with a section
            `data`, and of the files that it names. Checkpoint and description
            are in the folder itself or in the one that `model_dir` names.

    Raises:
        InputError: a file is missing or damaged, or a setting isn't supported.
    """
    path = find_settings(folder)
    if path is None:
        raise InputError(f"{folder}: no YAML file tells of vocabularies")
    settings = read_yaml(path, _PROGRAM)
    data = settings.get("data")
    if not isinstance(data, dict):
        raise InputError(f"{path}: no section data")
    checkpoint = _find_checkpoint(folder, path, settings)
    description = checkpoint.parent / _DESCRIPTION
    arguments = _read_description(description)
    tensors = _renamed(checkpoint, read_checkpoint(checkpoint))
    names = [inside(folder, path, f"{s}_vocabulary", data) for s in SIDES]
    source, target = (read_lines(name, _SPECIAL) for name in names)
    pieces = [_sentencepiece(folder, path, data, side) for side in SIDES]
    if _SHARED in tensors and source != target:
        raise InputError(
            f"{path}: one embedding for both sides, whose vocabularies differ"
        )
    controls = _controls(path, data)
    params = settings.get("params")
    params = params if isinstance(params, dict) else {}
    files = [path, description]
    files += sorted(checkpoint.parent.glob(f"{checkpoint.name}.*"))
    files += [*names, *filter(None, pieces)]
    return ForeignModel(
        folder=folder,
        kind=_PROGRAM,
        tensors=tensors,
        sizes=_sizes(checkpoint, tensors, arguments),
        activation=arguments["ffn_activation"],
        tied_embeddings=_tied(tensors),
        vocabularies=(source, target),
        paddings=(0, 0),
        starts=(1, 1),
        sentencepiece=tuple(pieces),
        max_length=_MAX_LENGTH,
        decoding=_decoding(params),
        left_out=without_counterpart(params, _NEUTRAL),
        files=tuple(dict.fromkeys(files)),
        section={
            "norm": "pre" if _FINAL_NORM in tensors else "post",
            "layer_norm_epsilon": _EPSILON,
            "first_position": 1,
            "source_start": controls["start"],
            "source_end": controls["end"],
            "dropout": arguments["dropout"],
        },
        padding_is_predicted=True,
        accepted_positions=("tensor2tensor",),
    )


def _find_checkpoint(folder, path, settings):
    """Finds the latest checkpoint; returns the prefix of its files."""
    folders = [folder]
    if settings.get("model_dir"):
        folders.append(inside(folder, path, "model_dir", settings))
    for candidate in folders:
        check_files(candidate)
        steps = [
            int(match[1])
            for file in candidate.glob("ckpt-*.index")
            if (match := _CHECKPOINT.fullmatch(file.name))
        ]
        if steps:
            return candidate / f"ckpt-{max(steps)}"
    raise InputError(
        f"{folders[-1]}: no ckpt-N.index. Accepted: a checkpoint of OpenNMT-tf "
        "there, or in the folder that model_dir names"
    )


def _renamed(prefix, variables):
    """Renames variables to transformers' names, and transposes kernels."""
    tensors, left = {}, []
    for name, array in variables.items():
        match = _VARIABLE.fullmatch(name)
        if name in _OTHERS:
            tensors[_OTHERS[name]] = array
        elif match and match[4] in (None, *_LINEAR):
            side, number, sublayer, linear, part = match.groups()
            whose = _SUBLAYERS[sublayer]
            if linear is None:
                inner = f"{whose}_layer_norm"
            elif sublayer == "ffn":
                inner = _LINEAR[linear]
            else:
                inner = f"{whose}.{_LINEAR[linear]}"
            name = f"model.{side}.layers.{number}.{inner}.{_PARTS[part]}"
            tensors[name] = array.T if part == "kernel" else array
        else:
            left.append(name)
    if left:
        raise InputError(
            f"{prefix}: {len(left)} variables that aren't understood, such as "
            f"{shown(left[0])}. Accepted: a Transformer with word embeddings "
            "and sinusoidal positions"
        )
    given = [name for name in (_SOURCE, _TARGET) if name in tensors]
    if not given:
        raise InputError(f"{prefix}: no embeddings, not an OpenNMT-tf model")
    if len(given) == 1:  # A shared embedding is saved under one of its names.
        tensors[_SHARED] = tensors.pop(given[0])
    if "lm_head.weight" in tensors:
        tensors["lm_head.weight"] = tensors["lm_head.weight"].T
    if "final_logits_bias" in tensors:
        bias = tensors["final_logits_bias"]
        tensors["final_logits_bias"] = bias[None]  # (1, V)
    return tensors


def _tied(tensors):
    if "lm_head.weight" in tensors:
        return "none"
    return "all" if _SHARED in tensors else "target"


def _sizes(prefix, tensors, arguments):
    layers = {}
    for side in ("encoder", "decoder"):
        kernel = re.compile(rf"model\.{side}\.layers\.(\d+)\.fc1\.weight")
        numbers = [m[1] for name in tensors if (m := kernel.fullmatch(name))]
        layers[f"num_{side}_layers"] = len(numbers)
    inner = tensors.get("model.encoder.layers.0.fc1.weight")
    if 0 in layers.values() or inner is None or inner.ndim != 2:
        raise InputError(f"{prefix}: no layers of a Transformer")
    d_ff, d_model = map(int, inner.shape)
    return {
        "d_model": d_model,
        "d_ff": d_ff,
        "num_heads": arguments["num_heads"],
        **layers,
    }


def _read_description(path):
    """Reads heads, activation and dropout from the call that builds the model.

    Raises:
        InputError: there isn't exactly one such call, or an argument isn't
            supported.
    """
    wanted = f"{_DESCRIPTION} beside the checkpoint"
    content = read_bytes(path, wanted, _LARGEST_DESCRIPTION)
    try:
        tree = ast.parse(content)
        found = map(_model_of, ast.walk(tree))
        calls = [call for call in found if call is not None]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(f"{path}: not a model of OpenNMT-tf") from None
    if len(calls) != 1:
        raise InputError(
            f"{path}: {len(calls)} models that are understood. Accepted: one "
            f"call of {', '.join(_CATALOG)}"
        )
    (given,) = calls
    if None in given:
        what = "an argument with * or **"
        raise refused(path, what, given[None], "arguments one by one")
    require_understood(path, given, _UNDERSTOOD)
    dropout = given.get("dropout")
    if type(dropout) not in (int, float) or not 0 <= dropout < 1:
        dropout = 0.1  # The catalog's; the value of a variable is unknown.
    usual = {"num_heads": 8, "ffn_activation": "relu"}
    return {**usual, **given, "dropout": dropout}


def _model_of(node):
    """Returns the arguments if a node is a call that builds a Transformer.

    None if it isn't. Arguments with * or ** have the key None.
    """
    if not isinstance(node, ast.Call):
        return None
    name = _last_name(node.func)
    given: dict[str | None, ast.expr] = {}
    if name == "get_model_from_catalog" and node.args:
        name = _last_name(node.args[0])
    elif name == "Transformer":
        given = dict(zip(_ARGUMENTS, node.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in node.keywords}
        if starred := [a for a in node.args if isinstance(a, ast.Starred)]:
            given[None] = starred[0]
    if name not in _CATALOG:
        return None
    return _CATALOG[name] | {k: _last_name(v) for k, v in given.items()}


def _last_name(node):
    """Returns a constant's value, or the last part of a dotted name."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ast.unparse(node)


def _sentencepiece(folder, path, data, side):
    """Returns a side's SentencePiece model; None: text is split at spaces."""
    key = f"{side}_tokenization"
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        path = inside(folder, path, key, data)
        value = read_yaml(path, _PROGRAM)
    kind, params = "OpenNMTTokenizer", value
    if isinstance(value, dict) and "type" in value:
        kind, params = value["type"], value.get("params") or {}
    if kind == "SpaceTokenizer":
        return None
    if isinstance(params, dict):
        extra = params.keys() - {"mode", "sp_model_path", "model"}
        if kind == "SentencePieceTokenizer" and not extra:
            return inside(folder, path, "model", params)
        plain = params.get("mode") == "none" and "sp_model_path" in params
        if kind == "OpenNMTTokenizer" and plain and not extra:
            return inside(folder, path, "sp_model_path", params)
    accepted = (
        "none, SpaceTokenizer, SentencePieceTokenizer, or OpenNMTTokenizer of "
        "mode none with sp_model_path alone"
    )
    raise refused(path, key, value, accepted)


def _controls(path, data):
    """Returns whether sources have `start` and `end`, booleans by name."""
    controls = {}
    for side in SIDES:
        key = f"{side}_sequence_controls"
        value = data.get(key) or {}
        if not isinstance(value, dict):
            raise InputError(f"{path}: {key} isn't start and end")
        # If only one is given, the other one is False.
        controls[side] = {
            name: value.get(name) is True if value else side == "target"
            for name in ("start", "end")
        }
    if not all(controls["target"].values()):
        raise refused(path, key, controls["target"], "start and end true")
    return controls["source"]


def _decoding(params):
    """Converts `params`; missing values are those of --auto_config."""
    return {
        "beam_size": params.get("beam_width", 4),
        "replace_unknown": bool(params.get("replace_unknown_target")),
        "length_penalty": params.get("length_penalty", 0),
        "length_normalization": "gnmt",
        "min_length": params.get("minimum_decoding_length") or 0,
        "max_length": params.get("maximum_decoding_length"),
    }
