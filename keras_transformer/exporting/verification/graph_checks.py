"""Static checks of an export's graph.

An operation is allowed if TensorFlow itself registers it, without another
library being loaded, or if it is among the TF Text operations of the oldest
supported server. Of these, operations are refused that need Python, XLA or
state outside the checkpoint, or that access files or other machines: a model
is a program, and this one is about to be run. Only the nodes that save and
restore the variables may read and write checkpoints.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from keras_transformer.compat import is_operation
from keras_transformer.contract import layout
from keras_transformer.errors import InputError
from keras_transformer.exporting.verification.checks import CheckFailed
from keras_transformer.system.files import read_bytes

if TYPE_CHECKING:
    from tensorflow.core.protobuf.meta_graph_pb2 import MetaGraphDef


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
    """
    TFText>RoundRobinGenerateMasks TFText>RoundRobinTrim TFText>Utf8Binarize
    """.split()
)

# Prefixes of names. Sources: REGISTER_OP in tensorflow/core/ops of 2.21:
# io_ops.cc, dataset_ops.cc, experimental_dataset_ops.cc, lookup_ops.cc,
# summary_ops.cc, checkpoint_ops.cc, candidate_sampling_ops.cc, logging_ops.cc,
# debug_ops.cc, array_ops.cc (ImmutableConst), data_flow_ops.cc (RecordInput),
# decode_proto_ops.cc, word2vec_ops.cc, dtensor_ops.cc, and the calibrator of
# quantization; and data_service_ops.cc, sendrecv_ops.cc, collective_ops.cc,
# remote_fused_graph_ops.cc, functional_ops.cc, nccl_ops.cc, tpu_*.cc. A test
# searches all registered operations for arguments that may name a file.
_OF_FILES = """
    CSVDataset CacheDataset CalibrationStatisticsSaver CloseSummaryWriter
    CreateSummary DTensorRestore DatasetFromGraph DatasetToTFRecord
    DebugIdentity DebugNanCount DebugNumericSummary DecodeProto
    DeserializeIterator DistributedSave DumpTensor EncodeProto
    ExperimentalCSVDataset ExperimentalDatasetToTFRecord
    ExperimentalLMDBDataset ExperimentalMatchingFiles ExperimentalSqlDataset
    FileSystemSetConfiguration FixedLengthRecord FixedUnigramCandidateSampler
    FlushSummaryWriter GenerateVocabRemapping IdentityReader ImmutableConst
    ImportEvent InitializeTRTResource InitializeTableFromTextFile LMDB
    ListSnapshotChunks LoadAndRemap LoadDataset MatchingFiles
    MergeV2Checkpoints Print ReadFile Reader RecordInput Restore Save
    SerializeTRTResource Skipgram Snapshot SqlDataset
    StatsAggregatorSetSummaryWriter SummaryWriter TFRecord TextLine
    WholeFileReader Write
    """.split()
_OF_MACHINES = """
    Bigtable BigQuery Collective ConfigureAndInitializeGlobalTPU
    ConfigureDistributedTPU ConfigureTPU ConnectTPU DTensor DataService
    DeleteRpc GcsConfigure Nccl Recv RegisterDataset RemoteCall
    RemoteFusedGraph Rpc Send ShutdownDistributedTPU ShutdownTPU TPU
    WorkerHeartbeat _ConfigureDistributedTPU _DisconnectHost _HostRecv
    _HostSend _InitializeHost _Nccl _Recv _Send _ShutdownDistributedTPU _TPU
    _WaitForDistributedTPU
    """.split()

# Collections of older SavedModels whose operations the loader runs.
# Source: tensorflow/cc/saved_model/{constants.h,loader_util.cc}.
_RUN_WHEN_LOADED = ("saved_model_main_op", "legacy_init_op")

# Prefixes of refused operations, each with the reason.
REFUSED = {
    **dict.fromkeys(_OF_FILES, "reaches files"),
    **dict.fromkeys(_OF_MACHINES, "reaches other machines"),
    "Abort": "ends the process",
    "PyFunc": "calls Python",
    "EagerPyFunc": "calls Python",
    "Xla": "needs XLA",
    "_Xla": "needs XLA",
    "MutableHashTable": "keeps state outside the checkpoint",
    "MutableDenseHashTable": "keeps state outside the checkpoint",
    "AnonymousMutable": "keeps state outside the checkpoint",
}


def graph_is_readable(folder: pathlib.Path) -> MetaGraphDef:
    """Reads the `MetaGraphDef` that the server would load.

    Raises:
        CheckFailed: there is none, there are several, so that the server might
            load another one, or the file is damaged.
    """
    path = folder / layout.SAVED_MODEL
    try:
        content = read_bytes(path, largest=layout.LARGEST_GRAPH)
        saved_model = saved_model_pb2.SavedModel.FromString(content)
    except InputError as error:
        raise CheckFailed(str(error)) from None
    except DecodeError:
        raise CheckFailed(f"{path}: damaged, not a SavedModel") from None
    tags = [list(graph.meta_info_def.tags) for graph in saved_model.meta_graphs]
    if tags != [[layout.TAG]]:
        # Loaders disagree on which of several graphs to load.
        received = ", ".join(map(str, tags))[:200] or "none"
        raise CheckFailed(
            f"{path}: must have one graph, tagged {layout.TAG!r} alone. "
            f"Received: {received}"
        )
    return saved_model.meta_graphs[0]


def operations_are_allowed(meta_graph: MetaGraphDef) -> str:
    """Checks that a stock server has all operations, and all are harmless."""
    used = set()
    refused = {}
    saver = _Saver(meta_graph)
    for owner, node in _owned_nodes(meta_graph):
        if node.op in saver.functions:
            continue
        used.add(node.op)
        why = refusal(node.op)
        if why and node.op not in saver.permitted(owner):
            refused[node.op] = why
    if refused:
        names = sorted(refused)
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        said = [f"{name[:60]} ({refused[name]})" for name in names[:8]]
        raise CheckFailed(", ".join(said) + more)
    return f"{len(used)} operations, all in TensorFlow or TF Text 2.12"


class _Saver:
    """Nodes that only save or restore the variables.

    Args:
        meta_graph: `MetaGraphDef`.

    Attributes:
        functions: the graph's functions, by their names.
    """

    def __init__(self, meta_graph):
        self.functions = {
            function.signature.name: function
            for function in meta_graph.graph_def.library.function
        }
        self._nodes = {node.name: node for node in meta_graph.graph_def.node}
        saver = meta_graph.saver_def
        self._saving = self._reached([saver.save_tensor_name])
        self._restoring = self._reached([saver.restore_op_name])
        self._serving = self._reached(_run_by_a_server(meta_graph))

    def permitted(self, owner) -> frozenset[str]:
        """Returns the checkpoint operations that a node may have.

        Args:
            owner: the node, or the function that contains it, as yielded by
                `_owned_nodes`.
        """
        if owner in self._serving:
            return frozenset()
        if owner in self._restoring:
            return frozenset(["RestoreV2"])
        if owner in self._saving:
            return frozenset(["SaveV2", "MergeV2Checkpoints"])
        return frozenset()

    def _reached(self, tensors) -> set[tuple[str, str]]:
        """Finds the nodes that compute tensors, and the functions they call."""
        waiting = [("node", _node_name(tensor)) for tensor in tensors]
        reached = set()
        while waiting:
            owner = waiting.pop()
            if owner in reached:
                continue
            kind, name = owner
            if kind == "function":
                nodes = self.functions[name].node_def
            elif name in self._nodes:
                nodes = [self._nodes[name]]
                inputs = map(_node_name, nodes[0].input)
                waiting += [("node", name) for name in inputs]
            else:
                continue
            reached.add(owner)
            for node in nodes:
                waiting += [("function", name) for name in self._called(node)]
        return reached

    def _called(self, node):
        """Returns names of functions that a node calls or has as attributes."""
        names = {node.op}
        for attribute in node.attr.values():
            names.add(attribute.func.name)
            names.update(function.name for function in attribute.list.func)
        return names & self.functions.keys()


def _run_by_a_server(meta_graph) -> Iterator[str]:
    """Yields names of tensors and nodes run by loading or by requests."""
    for signature in meta_graph.signature_def.values():
        for info in signature.outputs.values():
            yield info.name
            yield from (part.name for part in info.composite_tensor.components)
            sparse = info.coo_sparse
            yield sparse.values_tensor_name
            yield sparse.indices_tensor_name
            yield sparse.dense_shape_tensor_name
    for key in _RUN_WHEN_LOADED:
        if key in meta_graph.collection_def:
            yield from meta_graph.collection_def[key].node_list.value


def _node_name(tensor):
    """Returns the node's name of a tensor or control input (`^NODE`)."""
    return tensor.removeprefix("^").partition(":")[0]


def _owned_nodes(meta_graph) -> Iterator:
    """Yields every `NodeDef` with its owner.

    Yields:
        `(("node", its name), node)` for nodes of the graph itself, and
        `(("function", function's name), node)` for those of functions.
    """
    for node in meta_graph.graph_def.node:
        yield ("node", node.name), node
    for function in meta_graph.graph_def.library.function:
        for node in function.node_def:
            yield ("function", function.signature.name), node


def nothing_must_be_compiled(meta_graph: MetaGraphDef) -> str:
    """Checks for `jit_compile=True`, which a stock server refuses."""
    owners = [
        (function.signature.name, function.attr)
        for function in meta_graph.graph_def.library.function
    ]
    nodes = (node for _, node in _owned_nodes(meta_graph))
    owners += [(node.name, node.attr) for node in nodes]
    for name, attributes in owners:
        # `in` comes first, as reading an absent key of a map adds it.
        if "_XlaMustCompile" in attributes and attributes["_XlaMustCompile"].b:
            raise CheckFailed(f"{name} must be compiled by XLA")
    return f"{len(owners)} functions and nodes, none compiled"


def variables_are_stored_once(
    folder: pathlib.Path, meta_graph: MetaGraphDef, reference: dict
) -> str:
    """Checks that handles, stored tensors and used weights are equally many."""
    nodes = _owned_nodes(meta_graph)
    handles = sum(node.op == "VarHandleOp" for _, node in nodes)
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


def signatures_are_batches(meta_graph: MetaGraphDef) -> str:
    """Checks signatures: their tensors are dense with a free first axis."""
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


def refusal(operation: str) -> str | None:
    """Returns why a stock server must not run an operation; None if it may.

    Correct only in a process that has loaded no library of operations other
    than TensorFlow's and TF Text's.
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
