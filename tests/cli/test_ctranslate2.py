"""`export --format ctranslate2` and `translate --ctranslate2`."""

import importlib.util
import json
import re
import shlex
import shutil

import pytest

from keras_transformer.cli.main import main
from keras_transformer.config import Config
from keras_transformer.constants import NO_SCORE, SPECIAL_TOKENS
from keras_transformer.errors import InputError
from keras_transformer.system.machine import multiplies_int8
from tests.cli.conftest import (
    ROOT,
    call,
    ct2_words,
    each_configurable,
    start,
)
from tests.toy_models import VARIANTS, small_transformer
from tests.toy_runs import LETTERS, SHAPE, write_run

if importlib.util.find_spec("ctranslate2") is None:
    pytest.skip("CTranslate2 isn't installed", allow_module_level=True)

of_int8 = pytest.mark.skipif(
    not multiplies_int8(), reason="without VNNI CTranslate2's sums overflow"
)

LINES = [
    *("aaa bbb ccc", "", "zzz aaa", "ddd " * 60, "abc"),
    *(" ".join(3 * letter for letter in LETTERS[:n]) for n in range(1, 9)),
]


@pytest.fixture
def here(monkeypatch):
    """Checks in this process: a new one takes seconds to start."""
    from keras_transformer.exporting.verification import (
        checks,
        ctranslate2_checks,
    )
    from keras_transformer.exporting.writer import ctranslate2

    def check(folder, module):
        assert module == checks.CTRANSLATE2_CHECKS
        return tuple(ctranslate2_checks.verify(folder))

    # Of an export, and of --verify-only.
    for where in (ctranslate2, checks):
        monkeypatch.setattr(where, "check_in_fresh_process", check)


@pytest.fixture
def checked(succeed):
    """Exports to a new folder: its translations have been found the same."""

    def export(*words):
        report = json.loads(succeed(*words, "--json").out.splitlines()[-1])
        details = {c["name"]: c["detail"] for c in report["checks"]}
        assert details["greedy_translations_agree"] == "12 of 12 the same"
        said = details["log_probabilities_agree"]
        assert float(said.split()[4]) < 1e-5

    return export


@pytest.fixture
def translate(write, succeed):
    """What a model makes of lines."""

    def translate(*options, lines=LINES):
        path = write("lines.txt", lines)
        words = [*options, "--input", path, "--workers=1"]
        return succeed("translate", *words).out.splitlines()

    return translate


@pytest.mark.medium
@each_configurable
def test_translates_as_the_run_does(
    variant, tmp_path, here, checked, translate
):
    from keras_transformer.exporting.ctranslate2_session import (
        CTranslate2Session,
    )

    run, out = tmp_path / "run", tmp_path / "out"
    write_run(run, variant)
    checked(*ct2_words(run, out))
    greedy = ["--beam-size=1"]
    ours = translate("--run", run, *greedy)
    assert len(ours) == len(LINES)
    assert ours[1] == ""
    assert translate("--ctranslate2", out, *greedy) == ours
    # A search that goes on ends with nothing worse.
    scores = [
        [float(row.split("\t")[-1]) for row in rows]
        for rows in (
            translate("--ctranslate2", out, "--scores", *options)
            for options in ((), ("--set=decoding.early_stopping=true",))
        )
    ]
    pairs = list(zip(*scores, strict=True))
    assert all(score >= early for score, early in pairs)
    if variant == "as Marian's":
        assert any(score > early for score, early in pairs)
    # A blank text is nothing at all where no START and END frame it.
    session = CTranslate2Session(out)
    given = {"text": [b"", b"aaa"], "translation": [b"a", b"a"]}
    blank, score = session.run("score", given)["log_probability"]
    assert (blank == NO_SCORE) == (variant == "as OpenNMT's")
    assert NO_SCORE < score < 0
    session.close()


@pytest.mark.medium
def test_sentencepiece_and_origin_travel(folders, tmp_path, here, translate):
    run, out = tmp_path / "run", tmp_path / "out"
    prefix = "--source-prefix=>>cmn_Hans<<"
    call("import", folders["big"], "--out", run, prefix)
    call(*ct2_words(run, out))
    lines = ["I go.", "", "He wants to go to Shanghai."]
    options = ["--beam-size=1", "--set=decoding.max_length=20"]
    ours = translate("--run", run, *options, lines=lines)
    theirs = translate("--ctranslate2", out, *options, lines=lines)
    assert theirs == ours
    description = json.loads((out / "keras_transformer.json").read_text())
    assert description["imported"]["license"] == "apache-2.0"
    assert (out / "imported" / "README.md").is_file()


@pytest.mark.medium
@pytest.mark.parametrize("banned", ["[<unk>]", "[m, i]", "[<unk>, a]"])
def test_a_search_that_bans_tokens_is_exported(
    banned, toy, tmp_path, here, checked, translate
):
    out, bans = tmp_path / "out", f"--set=decoding.banned_tokens={banned}"
    checked(*ct2_words(toy, out), bans)
    ours = translate("--run", toy, "--beam-size=1", bans)
    assert translate("--ctranslate2", out, "--beam-size=1") == ours


def test_describes_itself_and_is_checked_again(ct2_export, here, succeed):
    said = succeed("info", ct2_export).out
    assert "export for CTranslate2" in said
    assert "apache-2.0" in said
    said = succeed("export", "--verify-only", ct2_export).out
    assert said.count("passed") == 5


@pytest.mark.medium
@pytest.mark.parametrize("longest", [3, 6])
def test_what_is_truncated_is_so_for_the_run(
    ct2_export, toy, translate, longest
):
    most = f"--set=decoding.max_length={longest}"
    options = ["--json", "--beam-size=1", most]
    found, expected = (
        [json.loads(row)["truncated"] for row in translate(*where, *options)]
        for where in (("--ctranslate2", ct2_export), ("--run", toy))
    )
    assert found == expected
    assert {*found} == {False, True}


@pytest.mark.medium
def test_n_best_scores_and_json(ct2_export, toy, translate):
    options = ["--n-best=3", "--scores", "--set=decoding.max_length=8"]
    rows = translate("--ctranslate2", ct2_export, *options)
    numbers = [int(row.split("\t")[0]) for row in rows]
    # A blank line has one.
    assert numbers.count(1) == 3
    assert numbers.count(2) == 1
    scores = [float(row.split("\t")[2]) for row in rows[:3]]
    assert scores == sorted(scores, reverse=True)
    rows = translate("--ctranslate2", ct2_export, "--json")
    assert json.loads(rows[3])["truncated"]
    banned = ["--set=decoding.banned_tokens=[<unk>, m, i]"]
    text = "".join(translate("--ctranslate2", ct2_export, "--beam-size=1"))
    assert {*"⁇mi"} < {*text}
    text = "".join(translate("--ctranslate2", ct2_export, *banned))
    assert text
    assert not set("⁇mi") & set(text)


def test_evaluates_as_the_run_does(ct2_export, toy, tmp_path, succeed):
    path = tmp_path / "pairs.tsv"
    lines = [f"{line}\t{'abcdefgh' * n}\n" for n, line in enumerate(LINES, 1)]
    path.write_text("".join(line for line in lines if line[0] != "\t"))

    def measured(*options):
        words = [*options, "--input", path, "--json", "--beam-size=1"]
        return json.loads(succeed("evaluate", *words).out)

    ours = measured("--run", toy)
    theirs = measured("--ctranslate2", ct2_export)
    for name in ("sentences", "tokens", "bleu", "chrf", "bleu_signature"):
        assert theirs[name] == ours[name], name
    # Of fewer tokens, each is more probable.
    difference = ours["cross_entropy"] - theirs["cross_entropy"]
    assert 0 < difference < 0.2 * ours["cross_entropy"]


@pytest.mark.medium
@pytest.mark.parametrize("least", [0, 6])
def test_limits_are_each_sentences_own(ct2_export, toy, translate, least):
    limits = {"ratio": 1, "offset": 1}
    options = [f"--set=decoding.max_length_{n}={v}" for n, v in limits.items()]
    options += ["--beam-size=1", f"--set=decoding.min_length={least}"]
    ours = translate("--run", toy, *options)
    theirs = translate("--ctranslate2", ct2_export, *options)
    assert theirs == ours
    assert least or len(set(map(len, ours))) > 5


@pytest.mark.medium
@of_int8
@pytest.mark.parametrize("quantization", ["int8", "int8_float32"])
def test_int8_is_smaller_and_translates(
    quantization, ct2_export, toy, tmp_path, here, translate
):
    out = tmp_path / "int8"
    call(*ct2_words(toy, out), f"--quantization={quantization}")
    sizes = [(f / "model.bin").stat().st_size for f in (out, ct2_export)]
    assert sizes[0] < 0.6 * sizes[1]
    lines = translate("--ctranslate2", out)
    assert len(lines) == len(LINES)
    assert any(lines)


@pytest.mark.slow
def test_workers_and_shards(ct2_export, tmp_path, translate):
    lines = LINES * 20
    alone = translate("--ctranslate2", ct2_export, lines=lines)
    out = tmp_path / "out.txt"
    process = start(
        *("translate-shards", "--ctranslate2", ct2_export, "--shards=3"),
        *("--input", tmp_path / "lines.txt", "--output", out, "--workers=2"),
    )
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert out.read_text().splitlines() == alone


def truncate(folder):
    path = folder / "model.bin"
    path.write_bytes(path.read_bytes()[:-10])


def flip(folder):
    content = bytearray((folder / "model.bin").read_bytes())
    content[-100] ^= 1
    (folder / "model.bin").write_bytes(content)


def described(**changes):
    """A damage: another description."""

    def rewrite(folder):
        path = folder / "keras_transformer.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return rewrite


def another_tokenizer(folder):
    shutil.rmtree(folder / "target_tokenizer")
    shutil.copytree(folder / "source_tokenizer", folder / "target_tokenizer")


def empty_model(folder):
    described(files=[])(folder)
    (folder / "model.bin").write_bytes(b"")


ELSEWHERE = [{"name": "../text", "bytes": 4, "sha256": ""}]
DESCRIPTION, TOKENIZER = "keras_transformer.json", "target_tokenizer"
DAMAGES = {
    "truncated": (truncate, "model.bin: damaged"),
    "flipped": (flip, "SHA-256"),
    "no model": (lambda f: (f / "model.bin").unlink(), "model.bin"),
    "no description": (lambda f: (f / DESCRIPTION).unlink(), "export --form"),
    "no JSON": (lambda f: (f / DESCRIPTION).write_text("{"), DESCRIPTION),
    "other format": (described(format="x"), "keras_transformer.ctranslate2"),
    "no files": (described(files=3), "damaged"),
    "a file elsewhere": (described(files=ELSEWHERE), "json: damaged"),
    "other settings": (described(config={"model": {"d_model": 0}}), "d_model"),
    "no tokenizer": (lambda f: shutil.rmtree(f / TOKENIZER), TOKENIZER),
    "another's tokenizer": (another_tokenizer, "not the tokenizer of this m"),
    "no fingerprint": (described(tokenizers=3), "no fingerprint of source"),
    "empty model": (empty_model, "CTranslate2 can't load it"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_folders_are_refused(damage, ct2_export, tmp_path, refuses):
    folder = shutil.copytree(ct2_export, tmp_path / "copy")
    (tmp_path / "text").write_text("aaa\n")
    change, says = DAMAGES[damage]
    change(folder)
    text = ("--input", tmp_path / "text")
    refuses("translate", "--ctranslate2", folder, *text, says=[says])


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--weights=best", ["--weights goes with --run"]),
        ("--alignment", ["--alignment goes with --run"]),
        ("--n-best=5", ["1 to 4", "Received: 5"]),
        ("--set=decoding.temperature=1", ["decoding.temperature", "=0"]),
        ("--set=decoding.repetition_penalty=2", ["repetition_penalty=1.0"]),
        (
            "--set=decoding.length_normalization=gnmt",
            ["length_normalization=average"],
        ),
        ("--set=decoding.banned_tokens=[Q]", ["not in the target's", "'Q'"]),
    ],
)
def test_options_that_it_lacks_are_refused(
    option, says, ct2_export, tmp_path, refuses
):
    (tmp_path / "text").write_text("aaa\n")
    words = ["--ctranslate2", ct2_export, "--input", tmp_path / "text"]
    refuses("translate", *words, option, says=says)


def test_exports_that_cannot_be_are_refused(
    toy, ct2_export, tmp_path, monkeypatch, refuses, here
):
    from keras_transformer.exporting.ctranslate2_folder import QUANTIZATIONS
    from keras_transformer.text import CharacterTokenizer

    words = ct2_words(toy, tmp_path / "out")
    refuses(*words, "--precision=bfloat16", says=["precision goes with format"])
    half = "--set=decoding.precision=bfloat16"
    refuses(*words, half, says=["decoding.precision"])
    refuses(*ct2_words(toy, ct2_export), says=[ct2_export])
    with monkeypatch.context() as patch:
        patch.setattr(CharacterTokenizer, "first_id", lambda self: 4)
        refuses(*words, says=["language code", "TensorFlow Serving"])
    # A check that fails publishes nothing.
    monkeypatch.setitem(QUANTIZATIONS, "float32", 1e-12)
    says = ["log_probabilities_agree failed", "nothing was published"]
    refuses(*words, says=says)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("variant", "says"),
    [
        ("no final norm", "needs encoder_norm/gamma"),
        ("post, final norm", "no place for decoder_norm/beta"),
    ],
)
def test_models_that_it_cannot_express_are_named(variant, says):
    from keras_transformer.exporting.writer.ctranslate2 import transformer_spec

    model = small_transformer(variant)
    shape = {**SHAPE, **VARIANTS[variant], "max_length": 64}
    shape.pop("final_norm")
    tokens = [*SPECIAL_TOKENS, *LETTERS]
    config = Config().updated({"model": shape})
    with pytest.raises(InputError, match=says):
        transformer_spec(model, config, tokens, tokens)
    with pytest.raises(InputError, match="'a' is in the target's"):
        transformer_spec(model, config, tokens, [*tokens[:-1], "a"])


def guide_commands():
    page = ROOT / "docs/en/guides/speed.md"
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.slow
@of_int8
def test_the_guides_commands_run(toy, tmp_path, monkeypatch, here):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(toy, tmp_path / "runs" / "en-zh")
    (tmp_path / "in.txt").write_text("aaa bbb\n")
    for name in ("train.tsv", "dev.tsv", "test.tsv"):
        (tmp_path / name).write_text("aaa bbb\tab\n")
    for words in guide_commands():
        # The server is started by tests/cli/test_serve_ctranslate2.py, int8
        # of TensorFlow's exported by tests/exporting/test_int8.py, a shortlist
        # by tests/translation/test_lexicon.py, and students are taught by
        # tests/cli/test_distill.py.
        elsewhere = words[0] in ("serve", "distill", "train")
        elsewhere = elsewhere or {"--precision", "int8"} <= set(words)
        elsewhere = elsewhere or {"export", "--shortlist"} <= set(words)
        assert elsewhere or main(words) == 0
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 1
