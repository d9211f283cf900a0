"""The page runner itself: what it takes for the same, and what not."""

import pytest

from tests.docs.pages import assert_same_output, examples, fences

PAGE = """# Title

```python
# Not a heading
x = 2
print(x, 0.5)
```

```text
2 0.5004
```

````{admonition} Answer
:class: dropdown

```python
print("name_1", x)
```
```text
name_1 2
```
````

Some text.

```text
a drawing
```

% slow

```python
raise RuntimeError("it ran")
```
"""


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    return path


def test_output_is_the_text_that_follows_directly(page):
    shown = [one.output and one.output.text for one in examples(page)]
    assert shown == ["2 0.5004\n", "name_1 2\n", None]
    assert len(fences(page)) == 6


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("0.1234", "0.1239"),
        ("[[ 0.5 -0. ]]", "[[0.5 0.]]"),
        ("a  b\n\n", "a b"),
        ("1000.2", "1000.9"),
    ],
)
def test_same(printed, shown):
    assert_same_output(printed, shown, "here")


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("0.123", "0.125"),
        ("(2, 3)", "(2, 4)"),
        ("layer_1", "layer_2"),
        ("ab", "a b"),
        ("0.5\n0.5", "0.5 0.5"),
        ("0.5", "0.5 0.5"),
        ("1", "1.0"),
        ("", "1"),
    ],
)
def test_not_the_same(printed, shown):
    with pytest.raises(AssertionError, match="the page shows"):
        assert_same_output(printed, shown, "here")
