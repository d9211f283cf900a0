import pytest

from keras_transformer.deployment import templates
from keras_transformer.deployment.templates import fill


@pytest.fixture
def filled(tmp_path, monkeypatch):
    monkeypatch.setattr(templates, "_FOLDER", tmp_path)

    def make(text, **values):
        (tmp_path / "it").write_text(text, encoding="utf-8")
        return fill("it", values)

    return make


def test_fields(filled):
    assert filled("{{ a }}-{{ b }}: {{ a }}\n", a=1, b="x") == "1-x: 1\n"


def test_a_field_alone_has_the_lines_of_its_value_indented(filled):
    text = filled("a:\n  {{ b }}\nc\n", b="- 1\n\n- 2\n")
    assert text == "a:\n  - 1\n\n  - 2\nc\n"


def test_a_field_alone_without_a_value_leaves_no_line(filled):
    assert filled("a\n  {{ b }}\nc\n", b="") == "a\nc\n"


@pytest.mark.parametrize(
    ("values", "lines"),
    [((0, 0), "no"), ((1, 0), "a"), ((1, 1), "a b"), ((0, 1), "no")],
)
def test_parts_may_be_nested(filled, values, lines):
    text = (
        "{{ if a }}\na\n  {{ if b }}\nb\n  {{ end }}\n{{ end }}\n"
        "{{ if not a }}\nno\n{{ end }}\n"
    )
    a, b = values
    assert filled(text, a=a, b=b).split() == lines.split()


def test_a_value_is_no_mark(filled):
    assert filled("{{ a }}\n", a="{{ b }}\n{{ if c }}") == (
        "{{ b }}\n{{ if c }}\n"
    )


def test_a_missing_value_is_an_error(filled):
    with pytest.raises(KeyError):
        filled("x {{ a }}\n")
    with pytest.raises(KeyError):
        filled("{{ if a }}\n{{ end }}\n")
