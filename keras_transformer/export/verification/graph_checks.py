"""Checks of an export's graph, which don't run it.

An operation is allowed if the TensorFlow library registers it by itself,
without another library being loaded, or if the oldest supported server has it
of TF Text. Refused is, of these, what needs Python, XLA or state that isn't
in the checkpoint.
"""

import pathlib
from collections.abc import Iterator

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from keras_transformer.compat import is_operation
from keras_transformer.contract import layout
from keras_transformer.export.verification.checks import CheckFailed

# The checkpoint's list of Python objects, not a weight.
_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"

# TF Text 2.12.1, built into TensorFlow Serving 2.15 to 2.19. Source: the
# names that a process registers on `import tensorflow_text` (2.21, which has
# 38), all found in the libraries of the 2.12.1 wheel except LATER_TEXT.
TEXT_OPERATIONS = frozenset(
    """
    CaseFoldUTF8 ConstrainedSequence FastBertNormalize
    FastWordpieceTokenizeWithOffsets FindSourceOffsets MaxSpanningTree
    NormalizeUTF8 NormalizeUTF8WithOffsetsMap PhraseTokenize
    RegexSplitWithOffsets RougeL SentenceFragments SentenceFragmentsV2
    SentencepieceDetokenizeOp SentencepieceIdToStringOp SentencepieceOp
    SentencepieceStringToIdOp SentencepieceTokenizeOp
    SentencepieceTokenizeWithOffsetsOp SentencepieceVocabSizeOp
    SplitMergeTokenizeWithOffsets TFText>BoiseTagsToOffsets
    TFText>ByteSplitByOffsets TFText>ByteSplitWithOffsets
    TFText>FastSentencepieceDetokenize TFText>FastSentencepieceTokenize
    TFText>FastWordpieceDetokenize TFText>NgramsStringJoin
    TFText>OffsetsToBoiseTags TFText>PhraseDetokenize
    TFText>WhitespaceTokenizeWithOffsetsV2 TokenizerFromLogits
    UnicodeScriptTokenizeWithOffsets WhitespaceTokenizeWithOffsets
    WordpieceTokenizeWithOffsets
    """.split()
)
# In the server since 2.20 only.
LATER_TEXT_OPERATIONS = frozenset(
    (
        "TFText>RoundRobinGenerateMasks",
        "TFText>RoundRobinTrim",
        "TFText>Utf8Binarize",
    )
)

# Beginnings of names, each with why a server can't have it.
REFUSED = {
    "PyFunc": "calls Python",
    "EagerPyFunc": "calls Python",
    "Xla": "needs XLA",
    "_Xla": "needs XLA",
    "MutableHashTable": "keeps state outside the checkpoint",
    "MutableDenseHashTable": "keeps state outside the checkpoint",
    "AnonymousMutable": "keeps state outside the checkpoint",
}


def graph_is_readable(folder: pathlib.Path):
    """The `MetaGraphDef` that the server would take.

    Raises:
        CheckFailed: there is none, or the file is damaged.
    """
    path = folder / layout.SAVED_MODEL
    try:
        saved_model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    except OSError as error:
        raise CheckFailed(f"{path}: {error.strerror}") from None
    except DecodeError:
        raise CheckFailed(f"{path}: damaged, not a SavedModel") from None
    for meta_graph in saved_model.meta_graphs:
        if layout.TAG in meta_graph.meta_info_def.tags:
            return meta_graph
    raise CheckFailed(f"{path}: no graph is tagged {layout.TAG!r}")


def operations_are_allowed(folder, meta_graph, reference) -> str:
    """Every operation is one that a stock server has."""
    used = sorted(_used_operations(meta_graph))
    refused = {name: refusal(name) for name in used if refusal(name)}
    if refused:
        raise CheckFailed(
            ", ".join(f"{name} ({why})" for name, why in refused.items())
        )
    return f"{len(used)} operations, all in TensorFlow or TF Text 2.12"


def nothing_must_be_compiled(folder, meta_graph, reference) -> str:
    """No function has `jit_compile=True`; a stock server refuses those."""
    owners = [
        (function.signature.name, function.attr)
        for function in meta_graph.graph_def.library.function
    ]
    owners += [(node.name, node.attr) for node in _nodes(meta_graph)]
    for name, attributes in owners:
        # Asked by `in` first: reading an absent key of a map adds it.
        if "_XlaMustCompile" in attributes and attributes["_XlaMustCompile"].b:
            raise CheckFailed(f"{name} must be compiled by XLA")
    return f"{len(owners)} functions and nodes, none compiled"


def variables_are_stored_once(folder, meta_graph, reference) -> str:
    """As many handles as stored tensors as weights that the search uses."""
    handles = sum(node.op == "VarHandleOp" for node in _nodes(meta_graph))
    try:
        shapes = tf.train.load_checkpoint(
            str(folder / layout.VARIABLES)
        ).get_variable_to_shape_map()
    except (tf.errors.OpError, ValueError, RuntimeError) as error:
        raise CheckFailed(f"variables: {error}") from None
    stored = len(shapes.keys() - {_OBJECT_GRAPH})
    used = reference["variables"]
    if not handles == stored == used:
        raise CheckFailed(
            f"{handles} variables in the graph, {stored} in the checkpoint, "
            f"{used} used by the model; expected as many of each"
        )
    return f"{handles} variables, each stored once"


def signatures_are_batches(folder, meta_graph, reference) -> str:
    """The expected signatures; tensors are dense with a free dimension 0."""
    for name, expected in layout.SIGNATURES.items():
        if name not in meta_graph.signature_def:
            raise CheckFailed(f"no signature {name!r}")
        signature = meta_graph.signature_def[name]
        inputs = dict.fromkeys(expected.inputs, ("string", 1))
        _check_tensors(name, "input", signature.inputs, inputs)
        _check_tensors(name, "output", signature.outputs, expected.outputs)
    return ", ".join(layout.SIGNATURES)


def _check_tensors(signature, role, tensors, expected):
    if tensors.keys() != expected.keys():
        raise CheckFailed(
            f"{signature}: {role}s are {sorted(tensors)}, "
            f"expected {sorted(expected)}"
        )
    for name, info in tensors.items():
        where = f"{signature}: {role} {name!r}"
        dtype, rank = expected[name]
        if info.WhichOneof("encoding") != "name":
            raise CheckFailed(f"{where} is not a dense tensor")
        if tf.dtypes.as_dtype(info.dtype).name != dtype:
            raise CheckFailed(f"{where} is {tf.dtypes.as_dtype(info.dtype)}")
        shape = tf.TensorShape(info.tensor_shape)
        if shape.rank != rank or shape[0] is not None:
            raise CheckFailed(
                f"{where} has shape {shape}, expected rank {rank} and a free "
                "first axis"
            )


GRAPH_CHECKS = (
    operations_are_allowed,
    nothing_must_be_compiled,
    variables_are_stored_once,
    signatures_are_batches,
)


def _nodes(meta_graph) -> Iterator:
    """Every `NodeDef`: those of the graph, then those of its functions.

    Args:
        meta_graph: `MetaGraphDef`.
    """
    yield from meta_graph.graph_def.node
    for function in meta_graph.graph_def.library.function:
        yield from function.node_def


def _used_operations(meta_graph) -> set[str]:
    """Names of all operations, calls of the graph's functions left out."""
    functions = {
        function.signature.name
        for function in meta_graph.graph_def.library.function
    }
    return {node.op for node in _nodes(meta_graph)} - functions


def refusal(operation: str) -> str | None:
    """Why a stock server can't run the operation; None if it can.

    Right only in a process that has loaded no library of operations beyond
    TensorFlow's and TF Text's.
    """
    for beginning, reason in REFUSED.items():
        if operation.startswith(beginning):
            return reason
    if operation in TEXT_OPERATIONS:
        return None
    if operation in LATER_TEXT_OPERATIONS:
        return "not in TF Text 2.12"
    if not is_operation(operation):
        return "neither in TensorFlow nor in TF Text 2.12"
    return None
