"""`distill`: prepared data with a teacher's translations as targets."""

import collections
import filecmp
import json
import shutil

import pytest

from keras_transformer import DecodingConfig, distill, load
from keras_transformer.data import records
from keras_transformer.data.prepared import PreparedData
from keras_transformer.data.records import parse
from keras_transformer.errors import InputError
from keras_transformer.translation import distillation
from keras_transformer.translation.request import Hypothesis, Translation
from keras_transformer.translation.workers import RunTranslatorFactory
from tests.cli.conftest import DATA_OPTIONS, call, read_prepared
from tests.data.conftest import contents
from tests.system.test_locks import holding

# A batch of 2 makes shards of 32 sentences, of the toy's 200.
OPTIONS = ("--batch-size=2", "--beam-size=2", "--workers=1")


def pairs_of(folder):
    """The training pairs of prepared data, as text, in their order."""
    import tensorflow as tf

    prepared = PreparedData.load(folder)
    pairs = []
    for path in prepared.files("train"):
        records = tf.data.TFRecordDataset(str(path)).batch(10_000)
        for sides in records.map(parse):
            tokenizers = prepared.source_tokenizer, prepared.target_tokenizer
            texts = [
                [text.decode() for text in tokenizer.detokenize(ids).numpy()]
                for tokenizer, ids in zip(tokenizers, sides, strict=True)
            ]
            pairs += zip(*texts, strict=True)
    return pairs


def rotated(text, count):
    """Its words, so many of them moved from the beginning to the end."""
    words = text.split()
    return " ".join(words[count:] + words[:count])


def scripted(factory):
    """A translator whose translations are the source's words, rotated."""

    def translate(lines):
        ranks = range(factory.request.count)
        best = [[(rotated(line, n), -n) for n in ranks] for line in lines]
        return [
            Translation(line, [Hypothesis(*one, finished=True) for one in row])
            for line, row in zip(lines, best, strict=True)
        ]

    return translate


@pytest.fixture
def script(monkeypatch):
    """Has another function make the translators; all else is as it is."""

    def use(make):
        monkeypatch.setattr(RunTranslatorFactory, "__call__", make)

    use(scripted)
    return use


@pytest.fixture
def command(run, data, tmp_path):
    """Distills in this process; the folder."""

    def make(*options, out="distilled", data=data, status=0):
        out = tmp_path / out
        words = ["--teacher", run, "--data", data, "--out", out]
        call("distill", *words, *OPTIONS, *options, status=status)
        return out

    return make


@pytest.fixture
def prepare(corpus, tmp_path):
    """Prepares the toy corpus or another one; the folder."""

    def make(*options, train=corpus / "train.tsv"):
        words = ["--train", train, "--out", tmp_path / "prepared"]
        call("prepare", *words, *DATA_OPTIONS, *options)
        return tmp_path / "prepared"

    return make


def test_targets_are_what_the_teacher_translates(
    command, run, data, tmp_path, capsys
):
    out = command()
    assert "200 read, " in capsys.readouterr().out
    read_prepared(out)
    before = pairs_of(data)
    sources = [source for source, _ in before]
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in sources))
    files = ["--input", tmp_path / "in", "--output", tmp_path / "out"]
    call("translate", "--run", run, *files, "--json", *OPTIONS)
    lines = map(json.loads, (tmp_path / "out").read_text().splitlines())
    # Those that are cut off by the search's limit teach nothing.
    expected = [
        (line["source"], line["translations"][0]["text"])
        for line in lines
        if line["translations"][0]["finished"]
    ]
    assert pairs_of(out) == expected
    assert len(expected) > 100
    assert expected != before
    for name in ("dev.tsv", "dev-00000-of-00001.tfrecord", "dev.lengths.npy"):
        assert filecmp.cmp(data / name, out / name, shallow=False)
    ours, theirs = map(PreparedData.load, (out, data))
    assert ours.config == theirs.config
    for side in ("source", "target"):
        tokenizers = [getattr(x, f"{side}_tokenizer") for x in (ours, theirs)]
        assert len({x.fingerprint() for x in tokenizers}) == 1
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"distilled", "in", "out"}


def test_info_says_what_it_was_made_of(script, command, run, data, succeed):
    out = command("--n-best=2", "--mix=0.5:1")
    described = json.loads(succeed("info", out, "--json").out)["distilled"]
    teacher = json.loads((run / "manifest.json").read_text())
    notes = json.loads((run / "weights" / "best.json").read_text())
    assert described["teacher"]["run"] == str(run)
    assert described["teacher"]["id"] == teacher["id"]
    assert described["teacher"]["sha256"] in notes["sha256"]
    assert described["data"]["folder"] == str(data)
    assert described["decoding"]["beam_size"] == 2
    assert described["n_best"] == 2
    assert described["mix"] == {"original": 0.5, "translated": 1.0}
    assert described["translations"]["sentences"] == 200


def test_original_pairs_are_kept_beside_the_n_best(script, command, data):
    out = command("--n-best=2", "--mix=1:1")
    originals = pairs_of(data)
    expected = collections.Counter(originals)
    for source, _ in originals:
        expected.update([(source, source), (source, rotated(source, 1))])
    pairs = pairs_of(out)
    assert collections.Counter(pairs) == expected
    # What a source is paired with stands far apart: beside each other are
    # the same sources as in the data itself, and where a part ends.
    together = [
        sum(map(str.__eq__, sources, sources[1:]))
        for sources in ([s for s, _ in pairs], [s for s, _ in originals])
    ]
    assert together[0] <= 3 * together[1] + 2
    corpora = PreparedData.load(out).report["corpora"]
    assert [corpus["trained"] for corpus in corpora] == [200, 400]


def test_weights_are_those_of_prepare(script, command, data):
    out = command("--mix=2.5:0.25")
    report = PreparedData.load(out).report
    originals, translations = (c["trained"] for c in report["corpora"])
    assert 460 < originals < 540
    assert 30 < translations < 70
    assert len(pairs_of(out)) == originals + translations
    cleaning = report["cleaning"]["train"]
    assert cleaning["kept"] == originals + translations
    assert cleaning["read"] == 400
    assert cleaning["repeated"] == originals - 200
    assert cleaning["not_sampled"] == 200 - translations
    counts = collections.Counter(pairs_of(data))
    for pair, count in collections.Counter(pairs_of(out)).items():
        if pair in counts:
            assert 2 * counts[pair] <= count <= 4 * counts[pair]


def test_shards_are_as_large_as_those_of_the_data(
    script, command, prepare, monkeypatch
):
    monkeypatch.setattr(records, "SHARD_PAIRS", 50)
    small = prepare("--set=data.remove_duplicates=false")
    out = command("--mix=1:1", data=small)
    sizes = PreparedData.load(out).shard_sizes("train")
    assert (len(sizes), sum(sizes)) == (8, 400)
    assert max(sizes) <= 52
    read_prepared(out)


def test_no_more_shards_than_sources(
    script, command, prepare, tmp_path, monkeypatch
):
    monkeypatch.setattr(records, "SHARD_PAIRS", 1)
    text = tmp_path / "few.tsv"
    text.write_text("one\ttwo\ntwo\tthree\nthree\tone\n")
    out = command("--mix=1:1", data=prepare(train=text))
    assert PreparedData.load(out).shard_sizes("train") == [2, 2, 2]


def test_what_is_no_translation_is_dropped_and_counted(
    script, command, prepare
):
    def make(factory):
        def translate(lines):
            return [translation(line) for line in lines]

        return translate

    def translation(line):
        texts = [["one", "one"], ["", "two"], ["two " * 90, "one"]]
        hypotheses = [
            Hypothesis(text, 0.0, finished="four" not in line)
            for text in texts[len(line.split()) - 2]
        ]
        return Translation(line, hypotheses, truncated="five" in line)

    script(make)
    prepared = prepare("--set=data.max_length=50")
    sources = [source for source, _ in pairs_of(prepared)]
    unread = [s for s in sources if "four" in s or "five" in s]
    lengths = collections.Counter(
        len(s.split()) for s in sources if s not in unread
    )
    out = command("--n-best=2", data=prepared)
    cleaning = PreparedData.load(out).report["cleaning"]["train"]
    assert cleaning["duplicate"] == lengths[2]
    assert cleaning["empty"] == lengths[3]
    assert cleaning["over_long"] == lengths[4] + len(unread)
    assert cleaning["kept"] == lengths.total() == len(pairs_of(out))


def test_nothing_that_is_left_is_an_error(script, command, capsys, tmp_path):
    def make(factory):
        return lambda lines: [
            Translation(line, [Hypothesis("", 0.0)]) for line in lines
        ]

    script(make)
    command(status=2)
    last = capsys.readouterr().err.splitlines()[-1]
    assert "no sentence pair is left" in last
    assert "empty 200" in last
    assert not (tmp_path / "distilled").exists()


def refuse_to_remove(folder):
    raise OSError


def test_a_process_killed_at_the_very_end_was_done(
    script, command, monkeypatch, capsys
):
    with monkeypatch.context() as patch:
        patch.setattr(distillation, "remove_shards", refuse_to_remove)
        out = command()
    before = contents(out)
    work = out.with_name("distilled.distilling")
    assert work.is_dir()
    command("--n-best=2", status=2)
    assert "exists and isn't empty" in capsys.readouterr().err
    command()
    assert "was written already" in capsys.readouterr().err
    assert contents(out) == before
    assert not work.exists()


def test_translations_of_other_options_are_refused(script, command, capsys):
    script(lambda factory: stop)
    command(status=2)
    for option, says in (
        ("--beam-size=3", "beam_size 2 and not 3"),
        ("--n-best=2", "n_best 1 and not 2"),
        ("--weights=last", "another model"),
    ):
        command(option, status=2)
        last = capsys.readouterr().err.splitlines()[-1]
        assert f"begun with {says}. Accepted: " in last


def all_but_its_manifest(folder):
    """Which says when it was made."""
    files = contents(folder)
    del files["manifest.json"]
    return files


def stop(lines):
    raise KeyboardInterrupt


def test_translations_that_are_damaged_are_made_again(
    script, command, capsys, tmp_path
):
    expected = all_but_its_manifest(command(out="whole"))
    script(lambda factory: stop_at_the_end(factory))
    command(status=2)
    path = tmp_path / "distilled.distilling/translations.shards/00001-of-00007"
    lines = path.read_text().splitlines(keepends=True)
    # As many translations, but those of other sources.
    path.write_text("".join(lines[::-1]))
    script(scripted)
    assert all_but_its_manifest(command()) == expected
    said = capsys.readouterr().err
    assert f"shard 1 failed (try 1 of 3): {path}: damaged" in said


def test_sources_that_are_damaged_are_written_again(script, command, tmp_path):
    expected = all_but_its_manifest(command(out="whole"))
    script(lambda factory: stop)
    command(status=2)
    work = tmp_path / "distilled.distilling"
    [sources] = work.glob("sources-*.txt")
    # Before the first shard is done, nothing else remembers them.
    shutil.rmtree(work / "translations.shards")
    lines = sources.read_text().splitlines(keepends=True)
    sources.write_text("".join(lines[::-1]))
    script(scripted)
    assert all_but_its_manifest(command()) == expected


def test_files_of_others_stay(script, command, tmp_path):
    work = tmp_path / "distilled.distilling"
    shards = work / "translations.shards"
    script(lambda factory: stop_at_the_end(factory))
    command(status=2)
    for folder in (work, shards):
        (folder / "thesis.tex").touch()
    script(scripted)
    command()
    names = {path.name for path in work.rglob("*") if path.is_file()}
    assert names == {"thesis.tex"}
    assert (shards / "thesis.tex").is_file()


def stop_at_the_end(factory):
    """A translator that is interrupted after some batches."""
    translate, done = scripted(factory), []

    def some(lines):
        done.append(lines)
        return stop(lines) if len(done) > 50 else translate(lines)

    return some


def test_two_processes_are_one_too_many(script, command, capsys, tmp_path):
    work = tmp_path / "distilled.distilling"
    work.mkdir()
    with holding(work / "lock"):
        command(status=2)
    said = capsys.readouterr().err.splitlines()
    assert "distills there. Accepted: another --out" in said[-1]


def test_data_and_teachers_that_are_refused(refuses, run, data, tmp_path):
    copy = shutil.copytree(run, tmp_path / "run")
    shutil.rmtree(copy / "weights")
    words = ["--data", data, "--out", tmp_path / "out"]
    refuses("distill", "--teacher", copy, *words, says=["no such weights"])
    broken = shutil.copytree(data, tmp_path / "data")
    words = ["--teacher", run, "--data", broken, "--out", tmp_path / "out"]
    path = broken / "train-00000-of-00001.tfrecord"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    refuses("distill", *words, says=[path, "damaged"])
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--target-language=de"], ["target language is en", "is de"]),
        (["--source-language=zh"], ["source language is en", "is zh"]),
        (["--set=data.source_tags=['<BT>']"], ["has no tag <BT>"]),
        (["--markup=symbols"], ["has no symbols for markup"]),
    ],
)
def test_a_teacher_of_other_languages_or_tags(
    refuses, run, prepare, tmp_path, options, says
):
    data = prepare(*options)
    words = ["--teacher", run, "--data", data, "--out", tmp_path / "out"]
    refuses("distill", *words, says=says)
    assert not list(tmp_path.glob("out*"))


def test_from_python(script, run, data, tmp_path):
    stages = []
    options = {"n_best": 2, "decoding": DecodingConfig(beam_size=3)}
    distilled = distill(
        *(run, data, tmp_path / "out"),
        **options,
        workers=1,
        progress=lambda *stage: stages.append(stage),
    )
    assert distilled.counts == {"train": 400, "dev": 20}
    assert ("translating", 200, 200) in stages
    assert stages[-1] == ("writing train", 200, 200)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("shortlist", [("a", "b")]),
        ("placeholders", ["~"]),
        ("markup", "project"),
    ],
)
def test_a_teacher_has_no_options_of_its_own(
    run, data, tmp_path, option, value
):
    with pytest.raises(InputError, match=f"loaded with {option}. Accepted"):
        distill(load(run, **{option: value}), data, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_the_current_folder_is_refused(
    refuses, run, data, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    words = ["--teacher", run, "--data", data, "--out=.", *OPTIONS]
    refuses("distill", *words, says=["is the current folder"])
    assert not list(tmp_path.iterdir())
