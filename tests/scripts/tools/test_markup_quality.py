import pytest

from scripts.tools.markup_quality import measures, share

SOURCE = "Click <b>Save</b> in %s."
REFERENCE = "Klicken Sie in %s auf <b>Speichern</b>."


@pytest.mark.parametrize(
    ("translation", "accuracy", "match", "position"),
    [
        (REFERENCE, 100, 100, 100),
        ("Klicken Sie in %s <b>auf Speichern</b>.", 100, 100, 66.67),
        ("Klicke in <b>%s</b>.", 100, 100, None),
        ("Klicken Sie in auf <b>Speichern</b>.", 100, 0, 66.67),
        ("Klicken Sie in %s auf <b>Speichern.", 0, 0, 66.67),
        ("Klicken Sie in %s auf Speichern.", 100, 0, 33.33),
    ],
)
def test_markup_is_measured(translation, accuracy, match, position):
    texts = ["one", SOURCE], ["eins", REFERENCE], ["<b>zwei", translation]
    found = measures(*texts)
    assert found["accuracy"]["percent"] == accuracy
    assert found["match"]["percent"] == match
    assert found["position"].get("percent") == position
    assert found["accuracy"]["of"] == 1


def test_intervals_of_shares():
    # Newcombe 1998, table I, method 3: 81 of 263.
    assert share(81, 263) == {
        "percent": 30.8,
        "interval": [25.53, 36.62],
        "of": 263,
    }
    assert share(5, 5)["interval"][1] == 100.0
