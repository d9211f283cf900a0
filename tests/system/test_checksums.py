import hashlib
import os

import pytest

from keras_transformer.errors import InputError
from keras_transformer.system.checksums import (
    check_file,
    checksum,
    describe_file,
    digest,
    files_fingerprint,
    is_bare_name,
)


def test_checksums_are_sha256(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    expected = hashlib.sha256(b"abc").hexdigest()
    assert checksum(path) == digest(b"abc") == expected
    assert describe_file(path) == {"name": "a", "bytes": 3, "sha256": expected}


def test_a_file_is_compared_with_its_description(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    described = describe_file(path)
    check_file(path, described, "repair", content=True)
    path.write_bytes(b"abd")
    check_file(path, described, "repair")
    with pytest.raises(InputError, match="a: damaged, its SHA-256.*; repair"):
        check_file(path, described, "repair", content=True)
    path.write_bytes(b"ab")
    with pytest.raises(InputError, match="2 bytes and not 3; repair"):
        check_file(path, described, "repair")
    # A file of another size is not read.
    os.truncate(path, 1 << 40)
    with pytest.raises(InputError, match=f"{1 << 40} bytes and not 3; repair"):
        check_file(path, described, "repair", content=True)
    path.unlink()
    with pytest.raises(InputError, match="a: No such file.*; repair"):
        check_file(path, described, "repair")


@pytest.mark.parametrize("path", ["/dev/zero", "pipe", "."])
def test_what_is_no_file_is_not_read(tmp_path, path):
    os.mkfifo(tmp_path / "pipe")
    status = (tmp_path / path).stat()
    described = {"bytes": status.st_size, "sha256": "0" * 64}
    with pytest.raises(InputError, match="not a file; repair"):
        check_file(tmp_path / path, described, "repair", content=True)


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("model.bin", True),
        ("..a", True),
        *((name, False) for name in ("", ".", "..", "/", "a/", "a/b", "../a")),
        ("/dev/zero", False),
        (3, False),
    ],
)
def test_a_bare_name_leads_nowhere_else(name, bare):
    assert is_bare_name(name) == bare


def test_a_fingerprint_is_of_names_contents_and_settings(tmp_path):
    def fingerprint(folder, settings=None):
        return files_fingerprint(folder, folder.rglob("*"), settings)

    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        (folder / "inner").mkdir(parents=True)
        (folder / "inner" / "a").write_text("a")
        (folder / "b").write_text("b")
    # Where the folder lies doesn't count.
    assert fingerprint(one) == fingerprint(other)
    assert fingerprint(one) != fingerprint(one, {"precision": "float32"})
    (other / "b").write_text("c")
    assert fingerprint(one) != fingerprint(other)
    (other / "b").rename(other / "c")
    (other / "c").write_text("b")
    assert fingerprint(one) != fingerprint(other)
