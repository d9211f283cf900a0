"""A grammar of damage: to bytes, to JSON and to YAML, and of odd corpora."""

import contextlib
import dataclasses
import json
import os
import shutil

from hypothesis import strategies as st

from tests.attack.rest_grammar import VALUES

_PIECES = st.one_of(
    st.binary(min_size=1, max_size=8),
    st.sampled_from(
        [
            *(b"\x00" * 64, b"\xff" * 64, b"\n", b"\t", b"[" * 100_000),
            *(b"{" * 1000, b"9" * 6000, b"\xef\xbb\xbf", b"PK\x03\x04"),
        ]
    ),
)
_SPOTS = st.integers(0, 10_000)  # of 10,000 parts of a file


@dataclasses.dataclass(frozen=True)
class Damage:
    """What turns a file's bytes into damaged ones; a report shows all of it."""

    kind: str
    begin: int
    width: int
    mask: int
    piece: bytes

    def __call__(self, content):
        at = len(content) * self.begin // 10_000
        end = min(len(content), at + self.width)
        parts = {
            "flip": bytes(byte ^ self.mask for byte in content[at:end]),
            "put": self.piece + content[at:end],
            "lose": b"",
            "zero": b"\x00" * (end - at),
            "repeat": content[at:end] * 2,
        }
        if self.kind == "cut":
            return content[:at]
        return content[:at] + parts[self.kind] + content[end:]


def damages():
    """A function from a file's bytes to damaged ones."""
    return st.builds(
        Damage,
        kind=st.sampled_from("flip flip cut cut put lose zero repeat".split()),
        begin=_SPOTS,
        width=st.integers(1, 64),
        mask=st.integers(1, 255),
        piece=_PIECES,
    )


@st.composite
def json_damages(draw):
    """A function from a JSON file's bytes to JSON that says other things."""
    steps = draw(st.lists(st.integers(0, 30), max_size=5))
    value = draw(
        st.one_of(
            VALUES,
            st.sampled_from(
                [
                    *(10**30, -1, 2**63, 1e308, "x" * 100_000, "../../etc", ""),
                    *([[]], {"": None}, "\ud800", "a\nb", [{}] * 1000),
                ]
            ),
        )
    )
    drop = draw(st.integers(0, 3)) == 0

    def damage(content):
        document = part = json.loads(content)
        if not steps:
            return json.dumps(value).encode()
        for number, step in enumerate(steps):
            keys = list(part) if isinstance(part, dict) else range(len(part))
            if not keys:
                break
            key = keys[step % len(keys)]
            inner = part[key]
            if number + 1 < len(steps) and isinstance(inner, dict | list):
                part = inner
                continue
            if drop:
                del part[key]
            else:
                part[key] = value
            break
        return json.dumps(document).encode()

    return damage


@dataclasses.dataclass(frozen=True)
class FolderDamage:
    """What befalls one of a folder's files; a report shows all of it."""

    kind: str
    file: int
    other: int
    damage: Damage

    def __call__(self, folder):
        """Does it to a folder that has files."""
        names = sorted(os.listdir(folder))
        path, other = (
            folder / names[n % len(names)] for n in (self.file, self.other)
        )
        if self.kind == "damage":
            with contextlib.suppress(OSError):  # A link to nothing, a folder.
                path.write_bytes(self.damage(path.read_bytes()))
        elif self.kind in ("copy", "swap"):
            self._exchange(path, other)
        else:
            path.unlink()
            make = {
                "lose": lambda: None,
                "empty": path.touch,
                "folder": path.mkdir,
                "pipe": lambda: os.mkfifo(path),
                "device": lambda: path.symlink_to("/dev/zero"),
                "link": lambda: path.symlink_to(other),
                "link out": lambda: path.symlink_to(folder.parent / "in.txt"),
            }
            make[self.kind]()

    def _exchange(self, path, other):
        if path == other or not (path.is_file() and other.is_file()):
            return
        if self.kind == "copy":
            with contextlib.suppress(shutil.SameFileError):
                shutil.copyfile(path, other, follow_symlinks=False)
            return
        path.rename(path.with_name(".swap"))
        other.rename(path)
        path.with_name(".swap").rename(other)


def folder_damages():
    """A function that does something to a file of a folder."""
    return st.builds(
        FolderDamage,
        kind=st.sampled_from(
            [
                *("damage", "damage", "damage", "copy", "swap", "lose"),
                *("empty", "folder", "pipe", "device", "link", "link out"),
            ]
        ),
        file=st.integers(0, 30),
        other=st.integers(0, 30),
        damage=damages(),
    )


# Names that resemble those of a folder of shards, and aren't any.
FOREIGN_NAMES = st.one_of(
    st.sampled_from(
        [
            *("joined.json", "notes.txt", "manifest.json.bak", ".tmp-mine"),
            *("00001-of-00005.txt", "1-of-5", "00001-of-00005.json.gz"),
            *("xclaims", "claims.old", ".00001-of-00005.swp", "-rf"),
        ]
    ),
    st.text("abc-0123456789.", min_size=1, max_size=20).filter(
        lambda name: name.strip(".") and "-of-" not in name
    ),
)


_SCALARS = st.one_of(
    st.sampled_from(
        [
            *("2020-99-99", "0x" + "f" * 6000, "9" * 6000, "!!python/name:os"),
            *("*a", "&a [*a]", "&a {<<: *a}", "[" * 5000, "{a: {a: {", "1e999"),
            *(
                ".nan",
                "-.inf",
                "0o777",
                "1_000",
                "1:30:00",
                "~",
                "no",
                "'",
                "|",
            ),
            *(
                '"\\ud800"',
                "!!binary x",
                "!!set {a}",
                "\t",
                "- - -",
                "%A",
                "...",
            ),
            *("1", "0", "-1", "0.5", "pre", "true", "null", "[]", "{}", "? a"),
        ]
    ),
    st.text(max_size=6),
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(str),
)
_KEYS = st.one_of(
    st.sampled_from(
        [
            *("model", "data", "training", "decoding", "d_model", "num_heads"),
            *("epochs", "beam_size", "norm", "dropout", "seed", "<<", "? "),
        ]
    ),
    st.text(max_size=5),
)


@st.composite
def yaml_texts(draw):
    """YAML, or nearly, of the words of a configuration."""
    lines = [
        f"{' ' * draw(st.sampled_from([0, 0, 2, 2, 2, 4]))}"
        f"{draw(_KEYS)}: {draw(_SCALARS)}"
        for _ in range(draw(st.integers(0, 8)))
    ]
    if draw(st.integers(0, 4)) == 0:
        names = "abcdefghijkl"[: draw(st.integers(1, 12))]
        lines.append("a: &a [x, x, x, x, x, x, x, x, x]")
        lines += [
            f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]"
            for old, new in zip(names, names[1:], strict=False)
        ]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


_SENTENCES = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            *("one two", "two one", "", " ", "\x00", "\u2028", "\x85", "\r"),
            *(
                "狗" * 30,
                "a" * 5000,
                "\ufeff",
                "<s>",
                "\x1b[2J",
                "a\u0301" * 20,
            ),
            *("x" * 2_000_000, "one " * 5000, "\U0001f600" * 9, "\x1c"),
        ]
    ),
)


@st.composite
def corpora(draw):
    """The bytes of a TSV file: odd lines among some that are right."""
    right = [f"one two {n}\ttwo {n} one\n".encode() for n in range(30)]
    odd = draw(st.lists(st.lists(_SENTENCES, max_size=4), max_size=6))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r", ""]))
    lines = [
        ("\t".join(columns) + end).encode("utf-8", "surrogatepass")
        for columns in odd
    ]
    content = b"".join(right[: draw(st.integers(0, 30))] + lines + right[:3])
    if draw(st.integers(0, 4)) == 0:
        content = draw(damages())(content)
    return content
