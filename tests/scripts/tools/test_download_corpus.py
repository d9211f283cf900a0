"""The download script against a server of this machine, good and bad."""

import hashlib
import io
import json
import random
import re
import threading
import zipfile
from pathlib import Path

import pytest

from scripts.tools import download_corpus
from tests.processes import ROOT, run_python
from tests.scripts.tools.corpus_server import CorpusServer

LINES = (
    "Hi.\t嗨。\tCC-BY 2.0 (France) Attribution: tatoeba.org #1 (a) & #2 (b)\n"
    "Run!\t跑\u2028吧！\tCC-BY 2.0 (France) #3 (c) & #4 (d)\tmore\n"
    "Nothing beside.\n"
    "Empty.\t \tCC-BY\n"
)


OPUS = ("opus", "--corpus", "TED2020")


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with CorpusServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def download(server, tmp_path, monkeypatch):
    """Runs the script, which doesn't wait between attempts; its exit status."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)

    def run(*words, pair="en-zh"):
        out = str(tmp_path / "corpora" / "en-zh.tsv")
        words = [*words, "--pair", pair, "--out", out, "--base-url", server.url]
        if words[0] == "opus":
            words += ["--api-url", f"{server.url}/opusapi/"]
        return download_corpus.main(words)

    return run


def make_zip(members, compression=zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def large_zip() -> bytes:
    """About 300 kB of text, stored as it is."""
    generator = random.Random(7)
    lines = [
        f"{generator.random()} word\t{generator.random()} 字\tCC\n"
        for _ in range(6000)
    ]
    return make_zip({"cmn.txt": "".join(lines)}, zipfile.ZIP_STORED)


def error_line(capsys) -> str:
    """The last line on stderr, which names the script; no traceback."""
    text = capsys.readouterr().err
    assert "Traceback" not in text
    last = text.strip().splitlines()[-1]
    assert last.startswith("download_corpus.py: ")
    return last


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# A whole download.


def test_tatoeba_becomes_a_tsv_with_attribution(download, server, tmp_path):
    server.files["/cmn-eng.zip"] = make_zip(
        {"cmn.txt": LINES, "_about.txt": "The terms."}
    )
    assert download("tatoeba") == 0
    text = (tmp_path / "corpora/en-zh.tsv").read_text(encoding="utf-8")
    assert text == (
        "Hi.\t嗨。\tCC-BY 2.0 (France) Attribution: tatoeba.org #1 (a) & #2"
        " (b)\nRun!\t跑 吧！\tCC-BY 2.0 (France) #3 (c) & #4 (d) more\n"
    )


def test_the_script_runs_on_its_own(server, tmp_path):
    server.files["/cmn-eng.zip"] = make_zip({"cmn.txt": LINES})
    output = tmp_path / "en-zh.tsv"
    words = ["tatoeba", "--pair", "en-zh", "--out", output]
    words += ["--base-url", server.url]
    script = ROOT / "scripts" / "tools" / "download_corpus.py"
    run_python(script, *words, folder=tmp_path, PYTHONPATH="")
    assert output.exists()


# Going on after a cut.


def test_a_cut_connection_goes_on_in_the_next_run(download, server, tmp_path):
    content = large_zip()
    server.files["/cmn-eng.zip"] = content
    server.cut_after = [100_000]
    assert download("tatoeba", "--attempts", "1") == 2
    folder = tmp_path / "corpora"
    assert names(folder) == ["cmn-eng.zip.part", "cmn-eng.zip.part.json"]
    assert (
        download("tatoeba", "--sha256", hashlib.sha256(content).hexdigest())
        == 0
    )
    assert server.requests[1][1] == "bytes=100000-"
    assert names(folder) == ["en-zh.tsv", "en-zh.tsv.LICENCE.txt"]


# What is refused.


def test_a_wrong_checksum_keeps_nothing(download, server, tmp_path, capsys):
    content = make_zip({"cmn.txt": LINES})
    server.files["/cmn-eng.zip"] = content
    assert download("tatoeba", "--sha256", "0" * 64) == 2
    line = error_line(capsys)
    assert hashlib.sha256(content).hexdigest() in line
    assert "0" * 64 in line
    assert names(tmp_path / "corpora") == []


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"no zip at all" * 99, "damaged"),
        (make_zip({"cmn.txt": LINES})[:-30], "damaged"),
        (make_zip({"fra.txt": LINES}), "no 'cmn.txt' .it has fra.txt"),
        (make_zip({"cmn.txt": LINES, "../../evil": "x"}), "outside of itself"),
        (make_zip({"cmn.txt": LINES, "/etc/evil": "x"}), "outside of itself"),
        (make_zip({"cmn.txt": "one column\n"}), "no sentence pair"),
        (make_zip({"cmn.txt": "x" * 2_000_000}), "line 1 .* is longer"),
    ],
    ids=["text", "cut", "missing", "climbs", "absolute", "no-pair", "long"],
)
def test_a_bad_archive_is_named_and_deleted(
    download, server, tmp_path, capsys, content, complaint
):
    server.files["/cmn-eng.zip"] = content
    assert download("tatoeba") == 2
    assert re.search(complaint, error_line(capsys))
    assert names(tmp_path / "corpora") == []


def test_an_archive_that_unpacks_to_too_much_is_refused(
    download, server, tmp_path, capsys
):
    server.files["/cmn-eng.zip"] = make_zip({"cmn.txt": "a\tb\n" * 500_000})
    assert download("tatoeba", "--max-gigabytes", "0.001") == 2
    assert "0.002 GB" in error_line(capsys)
    assert names(tmp_path / "corpora") == ["cmn-eng.zip"]
    # The archive is whole: with a higher limit it isn't loaded again.
    assert download("tatoeba", "--max-gigabytes", "0.01") == 0
    assert len(server.requests) == 1


@pytest.mark.parametrize("pair", ["en", "en-en", "en/zh", "fr-zh", "../x-en"])
def test_a_pair_that_is_none_is_refused(download, server, capsys, pair):
    assert download("tatoeba", pair=pair) == 2
    assert "--pair" in error_line(capsys)
    assert server.requests == []


# OPUS.


def opus_zip(english: str, chinese: str, code: str = "zh_cn") -> bytes:
    stem = f"TED2020.en-{code}"
    return make_zip(
        {
            f"{stem}.en": english,
            f"{stem}.{code}": chinese,
            f"{stem}.ids": "1\n2\n",
            "LICENSE": "Ask the owner.",
        }
    )


def opus_answer(code: str, release: str) -> bytes:
    entry = {"source": "en", "target": code, "version": release}
    return json.dumps({"corpora": [entry]}).encode()


def test_opus_is_asked_for_the_latest_release(download, server, tmp_path):
    server.files["/opusapi/"] = opus_answer("zh_cn", "v3")
    server.files["/OPUS-TED2020/v3/moses/en-zh_cn.txt.zip"] = opus_zip(
        "One.\nTwo.\n", "一。\n二。\n"
    )
    assert download(*OPUS) == 0
    text = (tmp_path / "corpora/en-zh.tsv").read_text(encoding="utf-8")
    assert text == (
        "One.\t一。\tOPUS TED2020 v3\nTwo.\t二。\tOPUS TED2020 v3\n"
    )
    assert "preprocessing=moses" in server.requests[0][0]
    licence = tmp_path / "corpora/en-zh.tsv.LICENCE.txt"
    assert "Ask the owner." in licence.read_text(encoding="utf-8")


def test_opus_with_sides_of_different_length_is_refused(
    download, server, tmp_path, capsys
):
    server.files["/OPUS-TED2020/v1/moses/en-zh_cn.txt.zip"] = opus_zip(
        "One.\nTwo.\n", "一。\n"
    )
    assert download(*OPUS, "--release", "v1", pair="en-zh_cn") == 2
    line = error_line(capsys)
    assert "'TED2020.en-zh_cn.zh_cn' in the zip has only 1 lines" in line
    assert names(tmp_path / "corpora") == []


def test_a_release_cannot_lead_elsewhere(download, server, capsys):
    server.files["/opusapi/"] = opus_answer("zh", "../../x")
    assert download(*OPUS) == 2
    assert "is no release" in error_line(capsys)
