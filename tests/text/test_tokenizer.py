import json
import os

import pytest
import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID, SPECIAL_TOKENS, START_ID
from keras_transformer.errors import InputError
from keras_transformer.text import frame, load_tokenizer

TEXT = ["看！ I see, the books.", "", "   ", "他说", "<BT> the ⟨1⟩books⟨/1⟩"]


def test_ids_are_ragged_int32_and_within_the_vocabulary(tokenizer):
    ids = tokenizer.tokenize(TEXT)
    assert isinstance(ids, tf.RaggedTensor)
    assert ids.dtype == tf.int32
    assert ids.shape.as_list() == [len(TEXT), None]
    assert ids.row_lengths().numpy()[1:3].tolist() == [0, 0]
    assert int(tf.reduce_max(ids)) < tokenizer.vocabulary_size


def test_reserved_tokens_come_first(tokenizer):
    tokens = tokenizer.tokens()
    assert tuple(tokens[:4]) == SPECIAL_TOKENS
    assert len(tokens) == tokenizer.vocabulary_size == len(set(tokens))


def test_text_that_spells_reserved_tokens_never_becomes_their_ids(tokenizer):
    ids = tokenizer.tokenize(["<s> </s> <pad> <unk>", "<pad>", "</s>x<s>"])
    assert not {PAD_ID, START_ID, END_ID} & set(ids.flat_values.numpy())


def test_detokenize_skips_pad_and_start_and_stops_at_end(tokenizer):
    ids = tokenizer.tokenize(TEXT)
    expected = tokenizer.detokenize(ids).numpy().tolist()
    framed = frame(ids)
    for given in (
        framed,
        framed.to_tensor(),
        tf.concat([framed, framed], axis=1),
        tf.cast(framed, tf.int64),
    ):
        assert tokenizer.detokenize(given).numpy().tolist() == expected


def test_unknown_is_shown_in_the_same_way(tokenizer):
    if "<0xE2>" not in tokenizer.tokens():
        assert tokenizer.tokenize(["☃"]).flat_values.numpy()[-1] == 1
    assert "⁇" in tokenizer.detokenize([[1]]).numpy()[0].decode()
    assert tokenizer.detokenize([[1]]).numpy()[0].decode().strip() == "⁇"


def test_empty_batch(tokenizer):
    ids = tokenizer.tokenize(tf.constant([], tf.string))
    assert ids.to_list() == []
    assert tokenizer.detokenize(ids).shape == [0]
    assert tokenizer.detokenize(tf.zeros([0, 0], tf.int32)).shape == [0]
    nothing = tf.zeros([2, 0], tf.int32)
    assert tokenizer.detokenize(nothing).numpy().tolist() == [b"", b""]


def test_any_bytes_are_text(tokenizer):
    ids = tokenizer.tokenize([b"\xff\xfe look", b"\x00", b"\xed\xa0\x80"])
    for text in tokenizer.detokenize(ids).numpy():
        text.decode()


def test_alone_equals_in_a_batch(tokenizer):
    together = tokenizer.tokenize(TEXT).to_list()
    assert together == [tokenizer.tokenize([t]).to_list()[0] for t in TEXT]


def test_saved_and_loaded_is_the_same(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "a" / "b")
    loaded = load_tokenizer(tmp_path / "a" / "b")
    assert type(loaded) is type(tokenizer)
    assert loaded.fingerprint() == tokenizer.fingerprint()
    assert loaded.tokens() == tokenizer.tokens()
    assert loaded.options() == tokenizer.options()
    assert loaded.tokenize(TEXT).to_list() == tokenizer.tokenize(TEXT).to_list()
    assert len(list((tmp_path / "a" / "b").iterdir())) == 2


def test_loading_without_its_files_is_refused(tokenizer, tmp_path):
    with pytest.raises(InputError, match=r"nothing.tokenizer\.json: No such"):
        load_tokenizer(tmp_path / "nothing")
    tokenizer.save(tmp_path)
    name = tokenizer.content_file
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(InputError, match=f"{name}: not the"):
        load_tokenizer(tmp_path)
    os.truncate(path, (1 << 28) + 1)
    with pytest.raises(InputError, match=f"{name}: too large"):
        load_tokenizer(tmp_path)
    path.unlink()
    with pytest.raises(InputError, match=f"{name}: No such file"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("{", "damaged"),
        ("[]", "not the description"),
        ({"kind": "sound"}, "unknown kind 'sound'. Accepted: "),
        ({"kind": 3}, "not the description"),
        ({"format": 9}, "format 9. Accepted by this version: 1"),
        ({"vocabulary_size": 3}, "vocabulary_size is 3, but"),
        ({"colour": 1}, "options that a"),
        ({"nfc": 1}, "option nfc is 1. Accepted: true or false"),
        ({"simplify": None}, "option simplify is None"),
        ({"moses_language": 5}, "option moses_language is 5. Accepted: the"),
        ({"tags": {"a": 1}}, "option tags is {'a': 1}. Accepted: different"),
        ({"tags": ["a", "b"]}, r"option tags is \['a', 'b'\]"),
        ({"tags": "<a>"}, "option tags is '<a>'"),
        ({"tags": ["<a>", 5]}, "option tags is"),
        ({"tags": ["<a>", "<a>"]}, "option tags is"),
        ({"tags": ["<s>"]}, "option tags is"),
    ],
    ids=str,
)
def test_a_damaged_description_is_refused(tokenizer, tmp_path, change, message):
    tokenizer.save(tmp_path)
    refused(tmp_path, change, message)


def refused(folder, change, message):
    """With another description or option it can't be loaded, in one line."""
    path = folder / "tokenizer.json"
    if isinstance(change, dict):
        description = json.loads(path.read_text())
        if not change.keys() <= description.keys():
            change = {"options": description["options"] | change}
        change = json.dumps(description | change)
    path.write_text(change)
    with pytest.raises(InputError, match="tokenizer.json: " + message) as error:
        load_tokenizer(folder)
    assert "\n" not in str(error.value)


def test_a_folder_that_cannot_be_written_is_refused(tokenizer, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="can't be written .Not a dir"):
        tokenizer.save(tmp_path / "file" / "folder")


def test_frame_puts_start_and_end_around_each_row():
    framed = frame(tf.ragged.constant([[5, 6], []], tf.int32))
    assert framed.to_list() == [[START_ID, 5, 6, END_ID], [START_ID, END_ID]]
    assert framed.dtype == tf.int32
    empty = tf.RaggedTensor.from_row_lengths(
        tf.zeros([0], tf.int32), tf.zeros([0], tf.int64)
    )
    assert frame(empty).to_list() == []
