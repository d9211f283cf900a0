"""Languages of a corpus: named by settings, by files, or refused."""

import pytest

from keras_transformer.config import DataConfig
from keras_transformer.data.corpus_languages import (
    script_hint,
    share_script,
    with_languages,
)
from keras_transformer.data.prepare import as_corpora, prepare
from keras_transformer.errors import InputError
from tests.word_data import word_data


@pytest.mark.parametrize(
    ("files", "languages"),
    [
        (["train.en-de.tsv"], ("en", "de")),
        (["/x/Tatoeba.de-en.tsv.gz", "news_de-en.tsv*0.5"], ("de", "en")),
        (["corpora/en-zh.tsv#BT"], ("en", "zh")),
        ([("corpus.de-en.en", "corpus.de-en.de")], ("en", "de")),
        (["train.cs.gz,train.sk.gz"], ("cs", "sk")),
        (["train.en-pt-BR.tsv"], ("en", "pt-BR")),
        (["zh_TW-en_US.tsv"], ("zh_TW", "en_US")),
        (["dev-en-sr_Latn.tsv"], ("en", "sr_Latn")),
    ],
)
def test_files_name_the_languages(files, languages):
    config = with_languages(DataConfig(), as_corpora(files))
    assert (config.source_language, config.target_language) == languages


def test_settings_come_before_names():
    config = DataConfig(source_language="nl", target_language="fr")
    corpora = as_corpora(["train.en-de.tsv"])
    assert with_languages(config, corpora) == config
    half = with_languages(DataConfig(source_language="en"), corpora)
    assert half.target_language == "de"


@pytest.mark.parametrize(
    ("files", "config", "says"),
    [
        (["train.tsv"], {}, "the source and the target language must be named"),
        (["train.tsv"], {"source_language": "en"}, "^the target language must"),
        (["in-house.tsv"], {}, "the source and the target language must be"),
        (["en-en.tsv"], {}, "--source-language and --target-language"),
        (["en-pt-br.tsv"], {}, "the source and the target language must be"),
        (["a.en-de.tsv", "b.de-en.tsv"], {}, 'source_language="..."'),
        (["a.en-de.tsv"], {"source_language": "de"}, "such as train.en-de.tsv"),
    ],
)
def test_languages_that_nothing_names_are_refused(
    files, config, says, tmp_path
):
    paths = [tmp_path / file for file in files]
    for path in paths:
        path.write_text(
            "I like tea.\t我喜欢茶。\n\nTwo cats\t两只猫\n", "utf-8"
        )
    with pytest.raises(InputError, match=says) as error:
        prepare(paths, tmp_path / "data", DataConfig(**config))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("pair", "shared"),
    [
        ("en-de", True),
        ("ru-uk", True),
        ("en-ru", False),
        ("en-zh", False),
        ("ja-zh", False),
        ("sr-hr", True),
        ("en-tlh", False),
    ],
)
def test_languages_of_one_script_share_it(pair, shared):
    source, target = pair.split("-")
    config = DataConfig(source_language=source, target_language=target)
    assert share_script(config) is shared


EN, ZH, RU = "a red cat", "一只红猫", "рыжий кот"


@pytest.mark.parametrize(
    ("source", "target", "pairs", "says"),
    [
        ("en", "zh", [(EN, ZH)], None),
        ("zh-TW", "en", [(ZH, EN)], None),
        ("en", "zh", [(ZH, EN)], "the columns are swapped"),
        ("ru", "en", [(EN, RU)] * 3 + [(RU, EN)], "the columns are swapped"),
        ("en", "ru", [(EN, RU)] * 3 + [(RU, EN)], None),
        ("en", "de", [(EN, ZH)], "targets are not in a script of de (LATIN)"),
        (
            "ru",
            "uk",
            [(EN, EN)],
            "sources are not in a script of ru (CYRILLIC)",
        ),
        # Of one script, of no letters, of two scripts, of unknown ones.
        ("de", "en", [(EN, "eine rote Katze")], None),
        ("en", "zh", [("1 + 1", "2"), ("", "")], None),
        ("sr", "en", [(EN, RU)], "targets are not in a script of en (LATIN)"),
        ("tlh", "zh", [(ZH, EN)], "targets are not in a script of zh (HAN)"),
        ("en", "zh", [("<BT> <QE> " + ZH, EN)], "the columns are swapped"),
        ("en", "de", [("1.27", EN)], "sources are not in a script of en"),
        # Letters of placeholders, tags and addresses don't count.
        ("en", "ru", [("%(a)s of %(b)s", "%(a)s из %(b)s")], None),
        ("ru", "en", [(f"<b>{RU}</b> <i>http://a.b</i> %s", EN)], None),
        ("en", "zh", [], None),
    ],
)
def test_columns_in_scripts_of_other_languages(source, target, pairs, says):
    config = word_data(source_language=source, target_language=target)
    hint = script_hint(pairs, config)
    assert hint == says if says is None else says in hint
