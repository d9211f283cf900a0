import json
import os
import types

import duckdb
import pytest
import tensorflow as tf

import keras_transformer as kt
from keras_transformer.config import Config
from keras_transformer.constants import UNK_ID
from keras_transformer.data.batching import TrainingBatches
from keras_transformer.data.prepare import prepare
from keras_transformer.errors import InputError
from keras_transformer.evaluation.scoring import as_references
from keras_transformer.system.checksums import describe_file
from tests.data.conftest import pair, stored_ids
from tests.word_data import word_data


def texts(prepared, split):
    """The detokenized pairs of a split, sorted."""
    tokenizers = prepared.source_tokenizer, prepared.target_tokenizer
    stored = zip(tokenizers, stored_ids(prepared, split), strict=True)
    sides = [
        [line.decode() for line in tokenizer.detokenize(ids).numpy()]
        for tokenizer, ids in stored
    ]
    return sorted(zip(*sides, strict=True))


def test_folder_and_manifest(prepared, corpus):
    shards = [f"train-0000{n}-of-00004.tfrecord" for n in range(4)]
    others = (
        "dev-00000-of-00001.tfrecord dev.lengths.npy dev.tsv manifest.json "
        "source_tokenizer target_tokenizer train.lengths.npy"
    )
    names = [*shards, *others.split()]
    assert sorted(os.listdir(prepared.path)) == sorted(names)
    assert [path.name for path in prepared.files("train")] == shards
    manifest = json.loads((prepared.path / "manifest.json").read_text())
    assert manifest["input"]["train"] == [describe_file(corpus)]
    programs = {"keras_transformer", "python", "tensorflow", "tensorflow-text"}
    programs |= {"sentencepiece", "opencc-python-reimplemented"}
    assert manifest["versions"].keys() >= programs
    assert prepared.config == word_data()


def test_unknown_tokens_of_dev_are_counted(prepared):
    # Of "the mouse ran" and "nine mice ran", only "the" is in training.
    assert "mouse" not in prepared.source_tokenizer.tokens()
    shares = prepared.report["dev_unknown_share"]
    assert shares["source"] == pytest.approx(5 / 6)
    assert shares["target"] == 1.0  # bytes
    sizes = prepared.report["vocabulary_sizes"]
    assert sizes["source"] == prepared.source_tokenizer.vocabulary_size
    assert sizes["target"] == prepared.target_tokenizer.vocabulary_size


def test_every_reason_is_counted(prepare_text):
    prepared = prepare_text(
        "a b c\t中文字\n"  # kept
        "a b c \t中文字\n"  # duplicate once stripped
        "a b c\t中文字\r\n"  # duplicate
        "a\t \n"  # empty
        "\n"  # empty
        f"a\t{'中' * 11}\n"  # over-long
        "a\t中中中中\n"  # uneven
        "a b c d\t这個漢字\n"  # kept
        "a b c d\t这个汉字\n"  # duplicate once simplified
        "a\t中中中\n"  # kept: as uneven as may be
        f"a b c d\t{'中' * 10}\n",  # kept: as long as may be
        max_length=10,
        max_length_ratio=3.0,
    )
    cleaning = prepared.report["cleaning"]["train"]
    assert {name: count for name, count in cleaning.items() if count} == {
        "read": 11,
        "kept": 4,
        "empty": 2,
        "duplicate": 3,
        "over_long": 1,
        "length_ratio": 1,
    }
    assert prepared.counts == {"train": 4}
    assert texts(prepared, "train") == [
        ("a", "中中中"),
        ("a b c", "中文字"),
        ("a b c d", "中" * 10),
        ("a b c d", "这个汉字"),
    ]


def test_checks_of_text_are_for_training_only(write, corpus, tmp_path):
    lines = [
        "a cat\t一只猫\n",
        "кот\t一只猫\n",  # wrong script
        "ok 中\tOK中\n",  # a copy
        "a cat\t一只猫\n",  # duplicate
        "the cat\t一只猫\n",
    ]
    path = write("a.tsv", "".join(lines))
    config = word_data(filters=("script", "copies"))
    prepared = prepare([path], tmp_path / "out", config, dev=path)
    cleaning = prepared.report["cleaning"]
    reasons = ("wrong_script", "copied", "duplicate")
    assert [cleaning["train"][reason] for reason in reasons] == [1, 1, 1]
    left = texts(prepared, "train")
    assert len(left) == 2
    assert {target for _, target in left} == {"一只猫"}
    assert [cleaning["dev"][reason] for reason in reasons] == [0] * 3
    assert prepared.report["samples"] == {
        "wrong_script": [["кот", "一只猫"]],
        "copied": [["ok 中", "OK中"]],
    }
    assert prepared.counts == {"train": 2, "dev": 5}


@pytest.mark.parametrize(
    "options", [{"simplify_chinese": False}, {"target_language": "zh-TW"}]
)
def test_chinese_stays_traditional_where_it_should(prepare_text, options):
    prepared = prepare_text("a b c d\t這個漢字\n", **options)
    assert texts(prepared, "train") == [("a b c d", "這個漢字")]
    run = types.SimpleNamespace(config=Config(data=prepared.config))
    assert as_references(run, ["這個漢字"]) == ["這個漢字"]


def test_text_of_any_characters_passes(prepare_text):
    pairs = [
        (f"a {n} \x0b\x85\u2028x", f"ü\x01\"'{'目' * (n % 7)}{n}")
        for n in range(100)
    ]
    prepared = prepare_text(pairs, 0.5, max_length_ratio=0.0)
    dev = list(prepared.dev_pairs())
    assert prepared.counts["train"] == len(dev) == 50
    assert set(dev) < set(pairs)


def test_dev_file_keeps_duplicates_and_uneven_pairs(write, corpus, tmp_path):
    dev = write(
        "dev.tsv",
        f"the cat\t猫\nthe cat\t猫\nthe\t{'猫' * 50}\n\t猫\nx\t{'猫' * 200}\n",
    )
    prepared = prepare([corpus], tmp_path / "out", word_data(), dev)
    cleaning = prepared.report["cleaning"]["dev"]
    assert {name: count for name, count in cleaning.items() if count} == {
        "read": 5,
        "kept": 3,
        "empty": 1,
        "over_long": 1,
    }
    assert list(prepared.dev_pairs()) == [
        ("the cat", "猫"),
        ("the cat", "猫"),
        ("the", "猫" * 50),
    ]
    assert prepared.counts["dev"] == 3


@pytest.mark.parametrize(
    ("match", "leaked", "overlap"),
    [("none", 0, 3), ("pair", 1, 2), ("source", 2, 1), ("side", 3, 0)],
)
def test_leaked_pairs_are_removed_from_training(
    write, corpus, tmp_path, match, leaked, overlap
):
    lines = [
        "THE CAT saw 0 times\t貓看0次\n",  # both sides stand in training
        "mouse\t狗看0次\n",  # its target does
        "The bird saw 0 times!\t鼠\n",  # its source does
        "m\t鼠\n",
    ]
    dev = write("dev.tsv", "".join(lines))
    config = word_data(remove_leaked=match)
    prepared = prepare([corpus], tmp_path / "out", config, dev)
    assert prepared.report["cleaning"]["train"]["leaked"] == leaked
    assert prepared.counts == {"train": 400 - leaked, "dev": 4}
    assert prepared.report["cleaning"]["dev"]["leaked"] == 0
    assert prepared.report["dev_overlap"] == overlap


@pytest.mark.medium
def test_held_out_files_guard_training_too(write, corpus, pairs, tmp_path):
    config = word_data(remove_leaked="pair")
    held_out = [write("test.tsv", pairs[2:])]
    results = [
        prepare([corpus], tmp_path / str(n), config, dev, held_out=held_out)
        for n, dev in enumerate([None, 0.1, write("dev.tsv", pairs[:2])])
    ]
    leaked = [r.report["cleaning"]["train"]["leaked"] for r in results]
    assert leaked == [3, 3, 5]
    assert results[0].counts == {"train": 397}
    assert results[0].manifest["input"]["held_out"][0]["name"] == "test.tsv"
    plain = prepare([corpus], tmp_path / "plain", config)
    assert plain.fingerprint != results[0].fingerprint


@pytest.mark.parametrize(
    ("language", "sources"),
    [
        ("ja", ("東京は広い", "猫が見る")),
        ("ko", ("韓美 정상", "對北 제재")),
        ("zh-Hant", ("這個漢字", "這隻貓")),
    ],
)
def test_a_vocabulary_shared_with_chinese_leaves_others_as_they_are(
    prepare_text, language, sources
):
    pairs = [*zip(sources, ("東京很廣", "貓看見"), strict=True)]
    prepared = prepare_text(
        pairs * 3,
        source_language=language,
        source_tokenizer="sentencepiece",
        target_tokenizer="sentencepiece",
        shared_vocabulary=True,
    )
    tokenizers = prepared.source_tokenizer, prepared.target_tokenizer
    assert tokenizers[0].tokens() == tokenizers[1].tokens()
    expected = zip(sources, ("东京很广", "猫看见"), strict=True)
    assert texts(prepared, "train") == sorted(expected)


def test_progress_reaches_the_total_of_each_stage(corpus, tmp_path):
    calls = {}
    prepare(
        [corpus],
        tmp_path / "out",
        word_data(target_tokenizer="character"),
        0.1,
        lambda stage, done, total: calls.update({stage: (done, total)}),
    )
    assert calls == {
        "reading train": (400, None),
        "sorting": (360, 360),
        "source vocabulary": (360, 360),
        "target vocabulary": (360, 360),
        "writing train": (360, 360),
        "writing dev": (40, 40),
    }


# Bad input: one line, and nothing left behind.

FILES = {
    "good.tsv": [("a b", "中文"), ("c", "字")],
    "lonely.tsv": "a\tb\nlonely\n",
    "long.tsv": [("a b", "中文中文"), ("a", "中文")],
    "one.tsv": [("a", "中"), ("a", "文")],
    "yes.tsv": [(f"w{n}", "是") for n in range(50)],
}
GOOD = ["good.tsv"]
REFUSED = [
    ([], "no training file", {}),
    (["pipe"], "is a pipe or a device. Accepted: a file", {}),
    (
        ["long.tsv"],
        r"train: no sentence pair is left \(read 2, kept 0, empty 0, .*"
        "over_long 1, length_ratio 1",
        {},
    ),
    (["good.tsv*1e-9"], "no sentence pair is left", {}),
    (GOOD, r"lonely\.tsv, line 2: one", {"dev": "lonely.tsv"}),
    (GOOD, "a weight. Accepted: a dev file", {"dev": "good.tsv*2"}),
    *(
        (GOOD, "above 0 and below 1", {"dev": fraction})
        for fraction in (0.0, 1.0, -0.1, 2, "1.5")
    ),
    (GOOD, "leaves a split empty", {"dev": 0.0001}),
    (["one.tsv"], "2 pairs leaves a split empty", {"dev": 0.9}),
    (["yes.tsv"], "whose translations few others have", {"dev": 0.5}),
    (GOOD, "need data.remove_leaked", {"held_out": GOOD}),
]


@pytest.mark.parametrize(("train", "match", "options"), REFUSED)
def test_bad_input_is_refused(
    write, tmp_path, monkeypatch, train, match, options
):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        write(name, content)
    os.mkfifo("pipe")
    refused(train, tmp_path, match, **options)


def refused(train, folder, match, **options):
    out = folder / "goal" / "out"
    out.parent.mkdir()
    config = word_data(max_length=3, max_length_ratio=1.0)
    with pytest.raises(InputError, match=match) as caught:
        prepare(train, out, config, **options)
    assert "\n" not in str(caught.value)
    assert os.listdir(out.parent) == []


def test_goal_that_holds_something_is_refused_and_untouched(corpus, tmp_path):
    (tmp_path / "mine").write_text("x")
    with pytest.raises(InputError, match="exists and isn't empty"):
        prepare([corpus], tmp_path, word_data())
    assert os.listdir(tmp_path) == ["mine"]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ("pairs/000000", "No space left on device"),
        ("source_tokens/000000", "No space left on device"),
        ("train", "No space left on device"),
        # A limit of a file's size.
        ("pairs/000000", 'Async write failed: {"errno":"27"}'),
    ],
)
def test_full_disk(corpus, tmp_path, failing_queries, files, reason):
    failing_queries(
        lambda query: (
            query.startswith("COPY") and f"/{files}.parquet'" in query
        ),
        duckdb.IOException(f"IO Error: {reason}"),
    )
    refused([corpus], tmp_path, "out: the disk is full; nothing was written")


@pytest.mark.filterwarnings("ignore:.* are unknown to the tokenizers")
def test_existing_tokenizers_are_used_as_they_are(prepared, write, tmp_path):
    path = write("other.tsv", "the cat saw a mouse\t猫看鼠\nbirds\t鸟\n")
    config = word_data(remove_duplicates=False, max_length=9)
    own = prepare([path], tmp_path / "own", config)
    other = prepare([path], tmp_path / "data", config, tokenizers=prepared.path)
    for side in ("source", "target"):
        name = f"{side}_tokenizer"
        ours, theirs = getattr(other, name), getattr(prepared, name)
        assert ours.fingerprint() == theirs.fingerprint()
        assert getattr(own, name).fingerprint() != theirs.fingerprint()
    ids = other.source_tokenizer.tokenize(tf.constant(["cat mouse"])).to_list()
    assert ids[0][0] != UNK_ID
    assert ids[0][1] == UNK_ID
    assert other.config == config
    assert other.manifest["input"]["tokenizers"] == {
        "folder": str(prepared.path),
        "fingerprints": [
            prepared.source_tokenizer.fingerprint(),
            prepared.target_tokenizer.fingerprint(),
        ],
    }
    # The same text and configuration, but other ids.
    assert other.fingerprint != own.fingerprint


def test_tokenizers_of_other_settings_are_refused(prepared, corpus, tmp_path):
    config = word_data(source_language="de", lowercase=False)
    says = "source_language is 'en', not 'de'; .*lowercase is True"
    with pytest.raises(InputError, match=says):
        prepare([corpus], tmp_path / "out", config, tokenizers=prepared.path)
    with pytest.raises(InputError, match="manifest.json"):
        prepare([corpus], tmp_path / "out", config, tokenizers=tmp_path)
    with pytest.raises(InputError, match=r"data.source_tags is \(\), not"):
        prepare(
            [f"{corpus}#BT"],
            tmp_path / "out",
            prepared.config,
            tokenizers=prepared.path,
        )
    assert list(tmp_path.iterdir()) == []


def numbered(word, count):
    return [(f"{word} {n}", f"字{n}") for n in range(count)]


def test_weights_repeat_and_sample_after_deduplication(write, tmp_path):
    real = write("real.tsv", numbered("a", 20))
    made = write("made.tsv", [*numbered("b", 1000), ("a 1", "字1")])
    prepared = prepare(
        [f"{real}*2.5", f"{made}*0.3#BT"], tmp_path / "out", word_data()
    )
    first, second = prepared.report["corpora"]
    assert (first["read"], first["left"]) == (20, 20)
    assert (second["read"], second["left"]) == (1001, 1001)
    assert 40 <= first["trained"] <= 60
    assert 250 < second["trained"] < 350
    assert first["weight"] == 2.5
    assert second["tag"] == "<BT>"
    found = texts(prepared, "train")
    real_pairs = [pair for pair in found if not pair[0].startswith("<BT>")]
    assert len(real_pairs) == first["trained"]
    assert {real_pairs.count(pair) for pair in real_pairs} == {2, 3}
    made_pairs = [pair for pair in found if pair[0].startswith("<BT>")]
    assert len(made_pairs) == len(set(made_pairs)) == second["trained"]
    cleaning = prepared.report["cleaning"]["train"]
    assert cleaning["kept"] == len(found) == prepared.counts["train"]
    assert cleaning["read"] == 1021
    assert cleaning["not_sampled"] == 1001 - second["trained"]
    assert cleaning["repeated"] == first["trained"] - 20


def test_a_pair_of_two_corpora_counts_for_the_first(write, tmp_path):
    first = write("first.tsv", "a\t字\nb\t文\n")
    second = write("second.tsv", "b\t文\nc\t中\n")
    prepared = prepare([first, f"{second}*3"], tmp_path / "out", word_data())
    assert [c["left"] for c in prepared.report["corpora"]] == [2, 1]
    assert prepared.counts["train"] == 2 + 3


def test_temperature_repeats_small_languages(write, tmp_path):
    large = write("large.tsv", numbered("a", 400))
    small = write("small.tsv", numbered("b", 100))
    prepared = prepare(
        [f"{large}#2zh", f"{small}#2ja"],
        tmp_path / "out",
        word_data(temperature=2.0),
    )
    trained = [c["trained"] for c in prepared.report["corpora"]]
    assert trained == [400, 200]  # 400^(1/2) to 100^(1/2)


def test_tags_are_tokens_of_the_source_in_every_split(write, tmp_path):
    train = write("a.tsv", numbered("<BT> a", 200))
    dev = write("dev.tsv", "x 1\t文1\n")
    prepared = prepare(
        [f"{train}#2zh"],
        tmp_path / "out",
        word_data(source_tags=("<BT>",)),
        f"{dev}#2zh",
    )
    assert prepared.config.source_tags == ("<BT>", "<2zh>")
    assert prepared.source_tokenizer.tags == ["<BT>", "<2zh>"]
    assert "bt" not in prepared.source_tokenizer.tokens()
    assert prepared.target_tokenizer.tags == []
    assert [*prepared.dev_pairs()] == [("<2zh> x 1", "文1")]
    found = texts(prepared, "train")
    assert all(source.startswith("<2zh> <BT> a") for source, _ in found)


@pytest.mark.parametrize(("before", "tag"), [("<BT> ", ""), ("", "#BT")])
def test_a_tag_hides_no_leak(write, tmp_path, before, tag):
    train = write("train.tsv", f"{before}Hello.\t你好\n{before}Bye.\t再见\n")
    dev = write("dev.tsv", "hello\t你好啊\n")
    config = word_data(remove_leaked="source", source_tags=("<BT>",))
    prepared = prepare([f"{train}{tag}"], tmp_path / "out", config, dev)
    assert prepared.report["cleaning"]["train"]["leaked"] == 1


@pytest.mark.medium
def test_fingerprint_follows_content_weights_and_configuration(write, tmp_path):
    path = write("a.tsv", numbered("a", 20))
    same = write("same.tsv", path.read_text())
    changed = write("changed.tsv", path.read_text() + "e\t字\n")
    specs = [path, same, changed, *(f"{path}{s}" for s in ("*2", "#x", "#y"))]
    found = [
        prepare([spec], tmp_path / str(n), word_data())
        for n, spec in enumerate(specs)
    ]
    found.append(prepare([path], tmp_path / "seed", word_data(seed=2)))
    prints = [prepared.fingerprint for prepared in found]
    assert prints[0] == prints[1]
    assert len(set(prints)) == len(prints) - 1
    assert found[3].manifest["input"]["train"][0]["weight"] == 2


def test_no_shard_is_full_of_copies(write, tmp_path):
    path = write("a.tsv", numbered("a", 500))
    config = word_data()
    prepared = prepare([f"{path}*3.5"], tmp_path / "out", config)
    shards = [
        tf.data.TFRecordDataset(str(file)).batch(1000).get_single_element()
        for file in prepared.files("train")
    ]
    assert len(shards) > 5
    for records in shards:
        assert len(set(records.numpy())) > 0.6 * len(records)


def test_swapped_columns_are_told(write, tmp_path):
    """Of each file of training by its rows, of one by its name, of others."""
    swapped = [pair(number)[::-1] for number in range(20)]
    table = write("pairs.tsv", swapped)
    sides = write("a.zh", "一只猫\n"), write("a.en", "a cat\n")
    named = write("a.zh-en.tsv", "a cat\t一只猫\n")
    held_out = write("test.zh", "一只猫\n"), write("test.en", "a cat\n")
    with pytest.warns(UserWarning, match="swapped") as caught:
        kt.prepare(
            [table, sides, named],
            tmp_path / "data",
            word_data(remove_leaked="side"),
            held_out=[held_out],
        )
    said = [str(warning.message) for warning in caught]
    assert len(said) == 4
    assert f"{table}: the columns are swapped: " in said[0]
    assert said[1].startswith(f"{sides[0]},{sides[1]}: the columns are")
    assert "by its name the columns are swapped: zh comes first" in said[2]
    assert said[3].startswith(f"{held_out[0]},{held_out[1]}: the columns")
    assert {warning.filename for warning in caught} == {__file__}


def test_tokenizers_that_know_few_tokens_are_told(prepared, write, tmp_path):
    """By side, and in the manifest."""
    pairs = [(f"the cat saw {n} mice", "猫看0次。") for n in range(50, 90)]
    other = write("other.tsv", pairs)
    with pytest.warns(UserWarning, match="unknown") as caught:
        found = prepare(
            [other], tmp_path / "a", word_data(), tokenizers=prepared.path
        )
    (said,) = [str(warning.message) for warning in caught]
    assert "% of the source tokens of training are unknown to" in said
    assert str(prepared.path) in said
    shares = json.loads((found.path / "manifest.json").read_text())["report"]
    assert shares["train_unknown_share"]["source"] > 0.2
    assert shares["train_unknown_share"]["target"] == 0
    assert shares["dev_unknown_share"] is None
    known = write("known.tsv", "the cat saw 0 times .\t猫看0次。\n")
    prepare([known], tmp_path / "b", word_data(), tokenizers=prepared.path)


def test_text_that_is_spelled_in_bytes_is_unknown(corpus, write, tmp_path):
    config = word_data(
        source_tokenizer="sentencepiece", source_vocabulary_size=2048
    )
    first = prepare([corpus], tmp_path / "first", config)
    shares = first.manifest["report"]["train_unknown_share"]
    assert shares["source"] == 0
    pairs = [(f"ŵŷẁ ẃýþ {n} ǿæĸ", "猫看0次。") for n in range(50, 90)]
    other = write("other.tsv", pairs)
    with pytest.warns(UserWarning, match="source tokens .* spelled in bytes"):
        prepare([other], tmp_path / "more", config, tokenizers=first.path)


def test_a_folder_of_any_name(corpus, tmp_path):
    config = word_data(
        source_tokenizer="sentencepiece",
        source_vocabulary_size=60,
    )
    data = prepare(
        [corpus],
        tmp_path / os.fsdecode(b"a?b caf\xe9 %s*'\"[1]") / "data",
        config,
        0.2,
    )
    data.verify()
    batches = TrainingBatches(data, batch_tokens=1000, shuffle_buffer=100)
    assert sum(len(labels) for _, labels in batches.dataset) > 100


@pytest.mark.medium
def test_many_preparations_in_a_process_are_quiet(write, tmp_path, caplog):
    path = write("a.tsv", [(f"a cat {n}", f"猫看{n}次") for n in range(40)])
    config = word_data(
        target_tokenizer="sentencepiece", target_vocabulary_size=40
    )
    for number in range(6):
        prepare([path], tmp_path / str(number), config, 0.2)
    assert "retracing" not in caplog.text
