"""What signatures of an export answer: texts of any number of sentences."""

import pytest
import tensorflow as tf

from keras_transformer.contract import layout
from keras_transformer.contract.status import Code, as_serving_error
from keras_transformer.exporting.session import SavedModelSession
from keras_transformer.search.scoring import ONE_EACH

ONE, TWO = "Where is the dog?", "The dog isn't here."
TEXT = f"{ONE} {TWO}\r\n\r\n - {TWO} \n"


@pytest.fixture(scope="module")
def session(report):
    session = SavedModelSession(report.path, 1)
    yield session
    session.close()


def answers(session, signature, *texts):
    inputs = {layout.TEXT: [text.encode() for text in texts]}
    return session.run(signature, inputs)


@pytest.mark.parametrize("signature", [layout.BEAM, layout.GREEDY])
def test_a_text_is_its_translated_sentences(session, signature):
    alone = answers(session, signature, ONE, TWO)
    outputs = answers(session, signature, TEXT, "", ONE)
    one, two = (text.decode() for text in alone[layout.TRANSLATION])
    # Chinese puts no space between sentences; line ends are as they were.
    assert [text.decode() for text in outputs[layout.TRANSLATION]] == [
        f"{one}{two}\r\n\r\n - {two} \n",
        "",
        one,
    ]
    assert outputs[layout.SENTENCES].tolist() == [3, 0, 1]
    first, second = alone[layout.SCORE].tolist()
    expected = [(first + 2 * second) / 3, 0, first]
    assert outputs[layout.SCORE].tolist() == pytest.approx(expected, abs=1e-4)


def test_nbest_joins_translations_of_a_rank(session):
    alone = answers(session, layout.NBEST, ONE, TWO)
    outputs = answers(session, layout.NBEST, f"{ONE} {TWO}")
    ranks = zip(*alone[layout.TRANSLATIONS].tolist(), strict=True)
    assert outputs[layout.TRANSLATIONS][0].tolist() == [
        b"".join(rank) for rank in ranks
    ]
    assert outputs[layout.SENTENCES].tolist() == [2]


def test_a_long_text_loses_nothing(session):
    outputs = answers(session, layout.GREEDY, f"{ONE} " * 200, "dog, " * 300)
    assert outputs[layout.SENTENCES].tolist()[0] == 200
    assert outputs[layout.SENTENCES].tolist()[1] > 10
    one = answers(session, layout.GREEDY, ONE)[layout.TRANSLATION][0]
    assert outputs[layout.TRANSLATION][0].startswith(one * 200)


@pytest.mark.medium
@pytest.mark.parametrize(
    ("texts", "translations"), [(1, 3), (3, 1), (1, 0), (2, 3)]
)
def test_as_many_translations_as_texts_are_scored(session, texts, translations):
    inputs = {
        layout.TEXT: [ONE.encode()] * texts,
        layout.TRANSLATION: ["狗。".encode()] * translations,
    }
    for outputs in ((), (layout.TOKENS,), (layout.TRUNCATED,)):
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            session.run(layout.SCORING, inputs, outputs)
        error = as_serving_error(raised.value)
        assert (error.code, error.http_status) == (Code.INVALID_ARGUMENT, 400)
        assert ONE_EACH in error.message
        assert f"[{texts}] [{translations}]" in error.message
        assert "\n" not in error.message
