"""Which operations a stock TensorFlow Serving can run.

Allowed is what the TensorFlow library registers by itself, without another
library being loaded, and what the oldest supported server has of TF Text.
Refused is, of these, what needs Python, XLA or state that isn't in the
checkpoint.
"""

from collections.abc import Iterator

from tensorflow.python.framework import op_def_registry

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


def nodes(meta_graph) -> Iterator:
    """Every `NodeDef`: those of the graph, then those of its functions.

    Args:
        meta_graph: `MetaGraphDef`.
    """
    yield from meta_graph.graph_def.node
    for function in meta_graph.graph_def.library.function:
        yield from function.node_def


def used_operations(meta_graph) -> set[str]:
    """Names of all operations, calls of the graph's functions left out."""
    functions = {
        function.signature.name
        for function in meta_graph.graph_def.library.function
    }
    return {node.op for node in nodes(meta_graph)} - functions


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
    if op_def_registry.get(operation) is None:
        return "neither in TensorFlow nor in TF Text 2.12"
    return None
