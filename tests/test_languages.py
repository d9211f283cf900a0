import pytest

from keras_transformer.languages import (
    base_language,
    fraction_in_scripts,
    is_chinese,
    is_english,
    is_japanese,
    is_simplified_chinese,
    is_tag,
    same_language,
    scripts_of_language,
    tag_of_language,
)


@pytest.mark.parametrize(
    ("check", "tags"),
    [
        (is_chinese, "zh ZH zh-TW zh_Hans cmn yue nan hak_Hant gan cdo hsn"),
        (is_japanese, "ja ja-JP"),
        (is_english, "en en_GB"),
        (
            lambda tag: not is_chinese(tag),
            "ja jpn_Jpan ko en de nan_Latn hak_Latn zh-Latn",
        ),
        (lambda tag: not is_japanese(tag), "zh yue en"),
        (lambda tag: not is_english(tag), "zh ja de"),
        (
            is_simplified_chinese,
            "zh ZH-cn zh_Hans zh-SG cmn zho_Hans zh-Hans-TW yue-Hans "
            "yue-CN gan hsn nan_Hans",
        ),
        # Told by script, region or language.
        (
            lambda tag: not is_simplified_chinese(tag),
            "zh-TW zh-Hant zh-HK zh-MO zh_Hant_TW ZH_hant zho_Hant cmn-tw yue "
            "zh-Hant-CN yue-HK zh-yue nan hak cdo gan_Hant zh-Latn ja en-HK",
        ),
    ],
)
def test_languages_are_recognised(check, tags):
    assert [tag for tag in tags.split() if not check(tag)] == []


def test_the_language_of_a_tag_is_its_first_part():
    for tag in (" pt_BR", "PT-pt", "por_Latn"):
        assert base_language(tag) == "pt"
    assert same_language("deu_Latn", "de-CH")
    assert same_language("zho_Hans", "yue")
    assert same_language("nan_Hant", "nan_Latn")
    assert not same_language("nl", "de")
    assert same_language("cn", "zh")
    assert same_language("nb-NO", "no")
    assert not same_language("nb", "nn")


@pytest.mark.parametrize(
    ("tags", "language", "expected"),
    [
        ("zh-CN zh-TW", "zh-Hant", "zh-TW"),
        ("zh-CN zh-TW", "zh-HK", "zh-TW"),
        ("zh-TW zh-CN", "zh", "zh-CN"),
        ("sr-latn-rs sr-cyrl-rs", "sr-Cyrl", "sr-cyrl-rs"),
        ("en pt-BR pt", "pt", "pt"),
        ("sr sr@latin", "sr_Latn", "sr@latin"),
        ("sr@cyrillic sr@latin", "sr-Cyrl", "sr@cyrillic"),
        ("ca@valencia", "ca", "ca@valencia"),
        ("en-GB", "de", None),
    ],
)
def test_the_tag_of_a_language_is_in_its_script(tags, language, expected):
    assert tag_of_language(tags.split(), language) == expected


def test_tags_are_told_from_names():
    assert all(map(is_tag, ("en", "nds", "zh_Hant", "PT-br", "sr@latin")))
    assert not any(map(is_tag, ("english", "", "e", "中文", "1a", "-en")))


# Scripts.


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Don't stop, naïve Zoë!"),
        ("de", "Größe"),
        ("vi", "Tôi không biết."),
        ("tr", "Iğdır"),
        ("zh", "我们学习。"),
        ("ja", "コーヒーを飲みました。時々"),
        ("ja", "東京"),
        ("ko", "안녕하세요"),
        ("ru", "Я не знаю."),
        ("uk", "Їжак"),
        ("bg", "Здравей"),
        ("sr", "Здраво"),
        ("sr", "Zdravo"),
        ("ar", "مرحبا"),
        ("fa", "سلام"),
        ("he", "שָׁלוֹם"),
        ("el", "Καλημέρα"),
        ("hi", "नमस्ते दुनिया"),
        ("th", "สวัสดีครับ"),
        ("ka", "გამარჯობა"),
        ("ta", "வணக்கம்"),
    ],
)
def test_every_letter_is_in_its_languages_script(language, text):
    assert fraction_in_scripts(text, scripts_of_language(language)) == 1.0


@pytest.mark.parametrize(
    ("text", "language", "share"),
    [
        ("Привет", "en", 0.0),
        ("hello", "ru", 0.0),
        ("안녕", "ja", 0.0),
        ("你好", "ko", 0.0),
        ("ひらがな", "zh", 0.0),
        ("hello мир", "en", 0.5),
        # Long names are single words; each of these characters is one.
        ("我喜欢 Microsoft Windows", "zh", 0.6),
        ("The word 你好 means hello", "en", 4 / 6),
    ],
)
def test_shares_count_words(text, language, share):
    scripts = scripts_of_language(language)
    assert fraction_in_scripts(text, scripts) == pytest.approx(share)


@pytest.mark.parametrize(
    "text", ["", "1999", "10:30 – ?!", "٤٢ ، 😀 $", "❤\ufe0f 1\ufe0f\u20e3"]
)
def test_text_without_letters_has_no_share(text):
    assert fraction_in_scripts(text, scripts_of_language("en")) is None


def test_width_and_ordinal_signs_do_not_change_the_script():
    latin = scripts_of_language("es")
    assert fraction_in_scripts("ＡＢＣ 1ª ﬁn", latin) == 1.0
    assert fraction_in_scripts("ﾊﾝｶｸ", scripts_of_language("ja")) == 1.0


def test_tags_name_languages_and_scripts():
    assert scripts_of_language("PT_br") == {"LATIN"}
    assert scripts_of_language("rus") == {"CYRILLIC"}
    assert scripts_of_language("sr") == {"CYRILLIC", "LATIN"}
    assert scripts_of_language("sr-Latn-RS") == {"LATIN"}
    assert scripts_of_language("sr_RS@latin") == {"LATIN"}
    assert scripts_of_language("uz_UZ@cyrillic") == {"CYRILLIC"}
    assert scripts_of_language("de_DE@euro") == {"LATIN"}
    assert scripts_of_language("zh-Hant") == {"HAN"}
    assert scripts_of_language("ja") == {"HAN", "KANA"}
    assert scripts_of_language("jpn_Jpan") == {"HAN", "KANA"}
    assert scripts_of_language("tha_Thai") == {"THAI"}
    # Unknown: whoever asks has nothing to check.
    assert scripts_of_language("qaa") == frozenset()
    assert scripts_of_language("en-Zsye") == frozenset()
