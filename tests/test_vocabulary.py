"""Names in the code are those of docs/glossary.md, not private ones."""

import pathlib
import tokenize

import keras_transformer

PACKAGE = pathlib.Path(keras_transformer.__file__).parent
# What it is called instead.
MISLEADING = {
    "ByHeads": "split heads",
    "ByRows": "joined heads",
    "Pools": "shuffle pools",
    "Slots": "cache writer",
    "demands": "sentence constraints",
    "first_room": "capacity",
    "found": "what was found: matches, logits, paths",
    "fused": "kernel",
    "place": "index",
    "places": "indices",
    "the_run": "run",
    "twice": "repeat",
}


def identifiers(path):
    """Names in a module, with their lines; not what stands in its texts."""
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.NAME:
                yield token.string.strip("_"), token.start[0]


def test_no_name_misleads():
    misleading = [
        f"{path.relative_to(PACKAGE.parent)}:{line}: {name}, "
        f"better {MISLEADING[name]}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for name, line in identifiers(path)
        if name in MISLEADING
    ]
    assert not misleading, "\n".join(misleading)
