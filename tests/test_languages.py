import pytest

from keras_transformer.languages import (
    base_language,
    is_chinese,
    is_english,
    is_japanese,
    is_tag,
)


@pytest.mark.parametrize("tag", ["zh", "ZH", "zh-TW", "zh_Hans", "cmn", "yue"])
def test_chinese_is_recognised(tag):
    assert is_chinese(tag)
    assert not (is_japanese(tag) or is_english(tag))


def test_japanese_and_english_are_recognised():
    assert is_japanese("ja-JP") and not is_chinese("ja")
    assert is_english("en_GB") and not is_english("de")


def test_the_language_of_a_tag_is_its_first_part():
    assert base_language(" pt_BR") == base_language("PT-pt") == "pt"


def test_tags_are_told_from_names():
    assert all(map(is_tag, ("en", "nds", "zh_Hant", "PT-br")))
    assert not any(map(is_tag, ("english", "", "e", "中文", "1a", "-en")))
