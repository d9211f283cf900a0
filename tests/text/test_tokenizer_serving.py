"""A tokenizer inside a SavedModel, as TensorFlow Serving would run it."""

import pathlib

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_transformer.text import build_tokenizer
from tests.word_data import word_data

TEXT = [
    b'I can\'t see the books: "Look!"',
    "他住在 New York，看書。".encode(),
    b"",
    b"\xff\xfe broken \xed\xa0\x80",
    b"<s> <pad> </s>",
    b"<BT> I see",
    b"I <BT> see",
    "⟨1⟩I see⟨/1⟩".encode(),
]

# What the graphs may use beyond core TensorFlow; all in TF Text 2.12.
TEXT_OPS = {
    "NormalizeUTF8",
    "SentencepieceOp",
    "SentencepieceTokenizeOp",
    "SentencepieceDetokenizeOp",
    "SentencepieceTokenizeWithOffsetsOp",
}


class _Served(tf.Module):
    def __init__(self, tokenizer):
        super().__init__()
        self.tokenizer = tokenizer

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string, "text")],
        autograph=False,
    )
    def serve(self, text):
        ids = self.tokenizer.tokenize(text)
        surface = self.tokenizer.surface(text).to_tensor("")
        return {
            "ids": ids.to_tensor(),
            "round_trip": self.tokenizer.detokenize(ids),
            "surface": surface,
            "replaced": self.tokenizer.detokenize(ids, surface),
        }


@pytest.fixture(scope="module")
def saved(tokenizer, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("saved"))
    served = _Served(tokenizer)
    tf.saved_model.save(served, path, signatures=served.serve)
    return path


def _run_in_session(path, batches):
    with tf.compat.v1.Session(graph=tf.Graph()) as session:
        loaded = tf.compat.v1.saved_model.load(session, ["serve"], path)
        signature = loaded.signature_def["serving_default"]
        outputs = {n: t.name for n, t in signature.outputs.items()}
        text = signature.inputs["text"].name
        return [session.run(outputs, {text: batch}) for batch in batches]


def test_a_session_gives_the_same_ids_and_text(saved, tokenizer):
    result, empty = _run_in_session(saved, [TEXT, []])
    ids = tokenizer.tokenize(TEXT)
    assert result["ids"].tolist() == ids.to_tensor().numpy().tolist()
    expected = tokenizer.detokenize(ids).numpy().tolist()
    assert result["round_trip"].tolist() == expected
    surface = tokenizer.surface(TEXT).to_tensor("")
    assert result["surface"].tolist() == surface.numpy().tolist()
    replaced = tokenizer.detokenize(ids, surface).numpy().tolist()
    assert result["replaced"].tolist() == replaced
    assert empty["ids"].shape[0] == empty["round_trip"].shape[0] == 0


def test_two_in_an_export_keep_their_models(tmp_path):
    # `tf.saved_model.load` gives resources without names the first one's.
    lines = [b"der Hund liest das Buch", b"the dog reads the book"]
    both = tf.Module()
    both.each = [
        _Served(
            build_tokenizer(
                *("sentencepiece", lambda line=line: [line.decode()] * 5),
                *(word_data(), "de", 60),
            )
        )
        for line in lines
    ]
    tf.saved_model.save(both, str(tmp_path))
    loaded = tf.saved_model.load(tmp_path)
    for served, line in zip(loaded.each, lines, strict=True):
        result = served.serve(tf.constant([line]))
        assert result["round_trip"].numpy().tolist() == [line]


def test_only_operations_that_servers_have(saved):
    model = saved_model_pb2.SavedModel()
    content = pathlib.Path(saved, "saved_model.pb").read_bytes()
    model.ParseFromString(content)
    graph = model.meta_graphs[0].graph_def
    nodes = list(graph.node)
    for function in graph.library.function:
        nodes.extend(function.node_def)
    operations = {node.op for node in nodes}
    operations -= {f.signature.name for f in graph.library.function}
    # Core TensorFlow's operations, and no library's, are in raw_ops.
    assert operations - set(dir(tf.raw_ops)) <= TEXT_OPS
    assert not [op for op in operations if op.startswith("MutableHashTable")]
