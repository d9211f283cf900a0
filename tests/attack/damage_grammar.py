"""A grammar of damage: bytes, JSON, YAML, claimed sizes, and odd corpora."""

import ast
import contextlib
import dataclasses
import io
import json
import os
import shutil
import struct
import zipfile

import yaml
from hypothesis import strategies as st

from tests.attack.examples import pick
from tests.attack.rest_grammar import VALUES

_PIECES = st.one_of(
    st.binary(min_size=1, max_size=8),
    pick(
        *(b"\x00" * 64, b"\xff" * 64, b"\n", b"\t", b"[" * 100_000),
        *(b"{" * 1000, b"9" * 6000, b"\xef\xbb\xbf", b"PK\x03\x04"),
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


@dataclasses.dataclass(frozen=True)
class Edit:
    """What has a JSON file say other things; a report shows all of it.

    Attributes:
        spot: of the file's values, the one that is changed, counted round; 0:
            all of it.
        value: what takes its place.
        drops: whether nothing does.
    """

    spot: int
    value: object
    drops: bool

    def __call__(self, content):
        whole = [json.loads(content)]
        part, key = _pick(self.spot, [(whole, 0), *_places(whole[0])])
        if self.drops and part is not whole:
            del part[key]
        else:
            part[key] = self.value
        return json.dumps(whole[0]).encode()


def json_damages():
    """A function from a JSON file's bytes to JSON that says other things."""
    odd = pick(
        *(10**30, -1, 2**63, 1e308, "x" * 100_000, "../../etc", ""),
        *([[]], {"": None}, "\ud800", "a\nb", [{}] * 1000),
    )
    values = st.one_of(VALUES, odd)
    drops = pick(True, False, False, False)
    return st.builds(Edit, st.integers(0, 1000), values, drops)


def _places(document):
    """Each place of a value in JSON or YAML: what holds it, and its key."""
    if isinstance(document, dict | list):
        is_object = isinstance(document, dict)
        for key in [*document] if is_object else range(len(document)):
            yield document, key
            yield from _places(document[key])


def _pick(spot, choices):
    """One of some, which are counted round."""
    return choices[spot % len(choices)]


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
            # Not of what an earlier one made: a pipe, or a link elsewhere.
            if path.is_file() and not path.is_symlink():
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
        kind=pick(
            *("damage", "damage", "damage", "copy", "swap", "lose"),
            *("empty", "folder", "pipe", "device", "link", "link out"),
        ),
        file=st.integers(0, 30),
        other=st.integers(0, 30),
        damage=damages(),
    )


# Names that resemble those of a folder of shards, and aren't any.
FOREIGN_NAMES = st.one_of(
    pick(
        *("joined.json", "notes.txt", "manifest.json.bak", ".tmp-mine"),
        *("00001-of-00005.txt", "1-of-5", "00001-of-00005.json.gz"),
        *("xclaims", "claims.old", ".00001-of-00005.swp", "-rf"),
    ),
    st.text("abc-0123456789.", min_size=1, max_size=20).filter(
        lambda name: name.strip(".") and "-of-" not in name
    ),
)


_SCALARS = st.one_of(
    pick(
        *("2020-99-99", "0x" + "f" * 6000, "9" * 6000, "!!python/name:os"),
        *("*a", "&a [*a]", "&a {<<: *a}", "[" * 5000, "{a: {a: {", "1e999"),
        *(".nan", "-.inf", "0o777", "1_000", "1:30:00", "~", "no", "'", "|"),
        *('"\\ud800"', "!!binary x", "!!set {a}", "\t", "- - -", "%A", "..."),
        *("1", "0", "-1", "0.5", "pre", "true", "null", "[]", "{}", "? a"),
    ),
    st.text(max_size=6),
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(str),
)
_KEYS = st.one_of(
    pick(
        *("model", "data", "training", "decoding", "d_model", "num_heads"),
        *("epochs", "beam_size", "norm", "dropout", "seed", "<<", "? "),
    ),
    st.text(max_size=5),
)


@st.composite
def yaml_texts(draw):
    """YAML, or nearly, of the words of a configuration."""
    lines = [
        f"{' ' * draw(pick(0, 0, 2, 2, 2, 4))}{draw(_KEYS)}: {draw(_SCALARS)}"
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
    pick(
        *("one two", "two one", "", " ", "\x00", "\u2028", "\x85", "\r"),
        *("狗" * 30, "a" * 5000, "\ufeff", "<s>", "\x1b[2J", "a\u0301" * 20),
        *("x" * 2_000_000, "one " * 5000, "\U0001f600" * 9, "\x1c"),
    ),
)


@st.composite
def corpora(draw):
    """The bytes of a TSV file: odd lines among some that are right."""
    right = [f"one two {n}\ttwo {n} one\n".encode() for n in range(30)]
    odd = draw(st.lists(st.lists(_SENTENCES, max_size=4), max_size=6))
    end = draw(pick("\n", "\n", "\r\n", "\r", ""))
    lines = [
        ("\t".join(columns) + end).encode("utf-8", "surrogatepass")
        for columns in odd
    ]
    content = b"".join(right[: draw(st.integers(0, 30))] + lines + right[:3])
    if draw(st.integers(0, 4)) == 0:
        content = draw(damages())(content)
    return content


# Of numbers that a header or a configuration claims.
_CLAIMS = st.one_of(
    pick(
        *(0, -1, 1, 3, 2**16, 2**20, 4_194_304, 2**31 - 1, 2**31, 2**32),
        *(2**40, 2**63, 2**64, 10**30, 0.5, 1e9, 1e308, -1e9),
        *("4194304", "", None, True, [4_194_304], {"a": 1}),
    ),
    st.integers(-(2**70), 2**70),
)


@dataclasses.dataclass(frozen=True)
class Claim:
    """What has a file claim another size; a report shows all of it.

    Attributes:
        spot: of the file's numbers, the one that is replaced, counted round.
        value: what takes its place.
    """

    spot: int
    value: object

    def __call__(self, name, content):
        """The changed bytes of a file of that name."""
        suffix = name.rpartition(".")[2]
        if suffix == "json":
            return json.dumps(self._replaced(json.loads(content))).encode()
        if suffix in ("yaml", "yml"):
            value = self._replaced(yaml.safe_load(content))
            return yaml.safe_dump(value).encode()
        if suffix == "safetensors":
            (length,) = struct.unpack_from("<Q", content)
            header = self._replaced(json.loads(content[8 : 8 + length]))
            text = json.dumps(header).encode()
            return struct.pack("<Q", len(text)) + text + content[8 + length :]
        if suffix in ("npz", "keras"):
            return self._in_archive(content)
        # Others have binary numbers: one of 4 bytes, of those that are sizes.
        at = self.spot % max(1, len(content) - 4)
        number = self.value if type(self.value) is int else 2**31
        number = struct.pack("<I", number % 2**32)
        return content[:at] + number + content[at + 4 :]

    def _replaced(self, document):
        """A document with another value for one of its numbers."""
        numbers = [
            (part, key)
            for part, key in _places(document)
            if type(part[key]) in (int, float)
        ]
        part, key = _pick(self.spot, numbers)
        part[key] = self.value
        return document

    def _in_archive(self, content):
        written = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {n: archive.read(n) for n in archive.namelist()}
        of_numbers = [n for n in members if n.endswith((".npy", "config.json"))]
        name = _pick(self.spot, of_numbers)
        member = members[name]
        if name.endswith(".json"):
            members[name] = self(name, member)
        else:
            members[name] = _npy_of(member, self.value)
        with zipfile.ZipFile(written, "w") as archive:
            for name, member in members.items():
                archive.writestr(name, member)
        return written.getvalue()


def _npy_of(member, value):
    """An array's bytes behind a header of another first axis."""
    (length,) = struct.unpack_from("<H", member, 8)
    header = ast.literal_eval(member[10 : 10 + length].decode())
    header["shape"] = (value, *header["shape"][1:])
    text = f"{header!r}\n".encode()
    return (
        member[:8] + struct.pack("<H", len(text)) + text + member[10 + length :]
    )


def claims():
    """A function from a file's name and bytes to bytes that claim others."""
    return st.builds(Claim, spot=st.integers(0, 100_000), value=_CLAIMS)
