"""Which commands the measurement of training further gives."""

import json
import pathlib
import types

import pytest
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from keras_transformer.cli.main import build_parser
from keras_transformer.evaluation.significance import Resampling
from scripts.benchmarks.fine_tuning import __main__ as fine_tuning

# The same in simplified and in traditional Chinese.
SIMPLE = (
    "一二三四五六七八九十人口手足耳目日月水火山石田土木禾上中下左右天地大小"
)


def translation(name, source):
    """What a model says: less and less of a reference, the worse it is."""
    kept = {"imported": 16, "further-0.0001-0.5": 30, "alone": 6}.get(name, 20)
    number = int(source.split()[-1])
    return reference(source)[: kept - number % 5]


def reference(source):
    """Characters of their own for each sentence."""
    return "".join(SIMPLE[ord(c) % len(SIMPLE)] for c in source * 2)


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Calls the script; commands are recorded instead of run."""
    for name, count in (("train", 60), ("dev", 4)):
        sources = [f"en {name} {i}" for i in range(count)]
        lines = [f"{text}\t{reference(text)}\n" for text in sources]
        (tmp_path / f"{name}.tsv").write_text("".join(lines), "utf-8")
    commands = []
    out = tmp_path / "out"

    def run(words):
        words = [str(word) for word in words]
        build_parser().parse_args(words)
        commands.append(words)
        if words[0] == "evaluate":
            scores = {"bleu": 0.0, "chrf": 1.0, "cross_entropy": 2.0}
            return json.dumps(scores) + "\n"
        if words[0] == "translate":
            name = pathlib.Path(words[words.index("--run") + 1]).name
            path = pathlib.Path(words[words.index("--input") + 1])
            sources = path.read_text("utf-8").splitlines()
            path = pathlib.Path(words[words.index("--output") + 1])
            lines = [translation(name, source) + "\n" for source in sources]
            path.write_text("".join(lines), "utf-8")
            return ""
        pathlib.Path(words[words.index("--out") + 1]).mkdir(exist_ok=True)

    def pretrain(words, cwd, check):
        commands.append(words)
        folder = pathlib.Path(words[words.index("--out") + 1])
        folder.mkdir()
        (folder / "config.json").touch()

    few = Resampling(resamples=50, trials=200)
    monkeypatch.setattr(fine_tuning, "_RESAMPLING", few)
    monkeypatch.setattr(fine_tuning.steps, "run", run)
    # Not `subprocess.run` itself, which imports call, too.
    processes = types.SimpleNamespace(run=pretrain)
    monkeypatch.setattr(fine_tuning, "subprocess", processes)

    def call(*options):
        del commands[:]
        files = [f"--{name}={tmp_path / name}.tsv" for name in ("train", "dev")]
        words = [*files, f"--out={out}", "--python=python-hf", *options]
        assert fine_tuning.main(words) == 0
        return commands, capsys.readouterr().out

    call.out = out
    return call


def sources(path):
    lines = path.read_text("utf-8").splitlines()
    return [line.split("\t")[0] for line in lines]


def test_a_tenth_of_the_other_half_is_trained_on(call):
    call()
    half = sources(call.out / "half.tsv")
    assert half == [f"en train {i}" for i in range(0, 60, 2)]
    tenth = sources(call.out / "tenth.tsv")
    assert tenth == [f"en train {i}" for i in (1, 21, 41)]
    unseen = sources(call.out / "unseen.tsv")
    assert unseen == [
        f"en train {i}" for i in range(60) if i % 2 and i % 20 != 1
    ]
    assert sources(call.out / "unseen.source") == unseen


def test_the_half_may_be_that_of_shorter_sources(call, tmp_path):
    lines = [
        f"{'en ' * (1 + i % 7)}{i}\t{reference(str(i))}\n" for i in range(60)
    ]
    (tmp_path / "train.tsv").write_text("".join(lines), "utf-8")
    call("--half", "short")
    half, tenth, unseen = (
        [len(source.split()) for source in sources(call.out / f"{name}.tsv")]
        for name in ("half", "tenth", "unseen")
    )
    assert len(half) == 30
    assert len(tenth) == 3
    assert len(unseen) == 27
    assert max(half) <= min(tenth + unseen)
    assert half == sorted(half)


def test_targets_are_simplified(call, tmp_path):
    (tmp_path / "dev.tsv").write_text("a 1\t漢字\n", "utf-8")
    call()
    assert (call.out / "dev.tsv").read_text("utf-8") == "a 1\t汉字\n"


def test_unseen_pairs_share_neither_side_with_training():
    trained = [("One two.", "一二。"), ("Three.", "三。")]
    pairs = [
        ("One, two", "二二。"),  # The same source by its key.
        ("Four.", "三"),
        ("Five.", "五。"),
        ("Three.", "三。"),
    ]
    assert fine_tuning._unseen(pairs, trained) == [("Five.", "五。")]


def test_commands(call):
    commands, _ = call("--rates", "1e-4", "3e-4", "--fractions", "0.5", "0")
    scored = ["evaluate", "translate", "translate"]
    assert [words[0] for words in commands] == [
        *("python-hf", "import", *scored),
        *("prepare", *("train", *scored) * 4),
        *("prepare", "train", *scored),
    ]
    assert commands[1][-2:] == ["--positions", "sinusoidal"]
    further, alone = (words for words in commands if words[0] == "prepare")
    assert further[2] == alone[2] == f"{call.out}/tenth.tsv"
    assert f"{call.out}/imported" in further
    *further, alone = (words for words in commands if words[0] == "train")
    assert "--preset=finetune" in further[0]
    assert "--from" not in alone
    rate = "training.learning_rate=0.0003"
    assert [
        [
            word.removeprefix("training.initial_")
            for word in words
            if "=0" in word
        ]
        for words in further
    ] == [[], ["fraction=0"], [rate], [rate, "fraction=0"]]


def test_table_has_intervals_and_p_values(call):
    """As sacreBLEU gives them for each model and the imported one."""
    _, table = call()
    rows = [row.strip("| ").split(" | ") for row in table.splitlines()]
    columns, _, *rows = rows
    assert columns == [
        *("model", "dev loss", "BLEU", "p", "chrF", "p"),
        *("BLEU, unseen pairs", "p", "chrF, unseen pairs", "p"),
    ]
    unseen = sources(call.out / "unseen.tsv")
    systems = [
        (name, [translation(name, source) for source in unseen])
        for name in ("imported", "further-0.0001-0.5", "alone")
    ]
    metrics = {"BLEU": BLEU(tokenize="zh"), "chrF": CHRF()}
    references = [[reference(source) for source in unseen]]
    ar = PairedTest(systems, metrics, references, "ar", 200)()[1]
    bs = PairedTest(systems, metrics, references, "bs", 50)()[1]
    bleu, chrf = bs["BLEU"], bs["chrF2"]
    scores = []
    for row, of_bleu, of_chrf in zip(rows, bleu, chrf, strict=True):
        assert row[6] == f"{of_bleu.score:.1f} ± {of_bleu.ci:.1f}"
        assert row[8] == f"{of_chrf.score:.1f} ± {of_chrf.ci:.1f}"
        scores.append(of_bleu.score)
    assert scores[1] > scores[0] > scores[2]
    assert sacrebleu.corpus_bleu(
        systems[1][1], references, tokenize="zh"
    ).score == pytest.approx(scores[1])
    assert rows[0][7].strip() == ""
    assert rows[1][7] == "0.005"
    assert f"{ar['BLEU'][1].p_value:.3f}" == "0.005"


def test_what_is_done_is_not_done_again(call):
    _, table = call()
    commands, again = call()
    assert commands == []
    assert again == table
