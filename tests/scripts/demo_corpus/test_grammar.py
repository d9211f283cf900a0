import re

import pytest

from keras_transformer.data.demo import load_demo_corpus
from scripts.demo_corpus.constructions import CONSTRUCTIONS
from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.numbers import (
    chinese_number,
    english_number,
)

# Construction, English, Chinese: verified by hand.
KNOWN = """
identity	They are not journalists.	他们不是记者。
feeling	She is thirsty today.	她今天很渴。
quality	Those shoes are new.	那些鞋很新。
possession	She has two cats.	她有两只猫。
belongs	Whose pen is this?	这是谁的笔？
age	He is forty years old.	他四十岁。
placed_things	There are three maps hanging on the wall.	墙上挂着三张地图。
weather	It won't rain tonight.	今天晚上不会下雨。
time_of_day	It is already two o'clock.	已经两点了。
wearing	She is wearing a red skirt.	她穿着一条红色的裙子。
wearing	I am wearing a black hat.	我戴着一顶黑色的帽子。
past_activity	Did you swim yesterday?	你昨天游泳了吗？
finished	They haven't cooked yet.	他们还没做饭。
experience	I have ridden a horse twice.	我骑过两次马。
lasting	I swam for two hours yesterday.	我昨天游了两个小时泳。
future_person	I will call you tomorrow.	我明天会给你打电话。
by_transport	I went to Beijing by train last year.	我去年坐火车去了北京。
put_away	He put his key on the desk.	他把他的钥匙放在书桌上了。
manner	He doesn't speak English well.	他英语说得不好。
duty	You don't have to cook.	你不用做饭。
more_than	Tom is taller than Mary.	汤姆比玛丽高。
as_much_as	She is as tall as me.	她跟我一样高。
how	How did you go to Paris?	你是怎么去巴黎的？
which	Which hat do you like?	你喜欢哪顶帽子？
because	I stayed at home because it was raining.	因为下雨，所以我待在家里。
as_soon_as	I will call you as soon as I get home.	我一到家就会给你打电话。
belief	I think that Mary is not rich.	我觉得玛丽没有钱。
relative_person	The man who is dancing is my friend.	在跳舞的男人是我的朋友。
dont	Don't take photos here.	别在这里拍照。
"""


@pytest.fixture(scope="module")
def pairs():
    corpus = load_demo_corpus()
    return corpus.train + corpus.dev + corpus.test


@pytest.fixture(scope="module")
def grammar():
    """Every sentence that many draws of every construction give."""
    draw = Draw(11)
    return [
        (construct.__name__, *construct(draw))
        for construct in CONSTRUCTIONS
        for _ in range(2500)
    ]


def test_one_english_sentence_has_one_chinese(grammar):
    chinese_of = {}
    for name, english, chinese in grammar:
        assert chinese_of.setdefault(english, chinese) == chinese, (
            name,
            english,
        )


@pytest.mark.parametrize(
    "line", KNOWN.strip().split("\n"), ids=lambda line: line.split("\t")[0]
)
def test_hand_verified_sentences_come_from_the_grammar(line):
    name, english, chinese = line.split("\t")
    construct = {c.__name__: c for c in CONSTRUCTIONS}[name]
    draw = Draw(0)
    for _ in range(100_000):
        drawn = construct(draw)
        if drawn[0] == english:
            assert drawn[1] == chinese
            return
    pytest.fail(f"never drawn: {english}")


def test_sentences_are_written_as_their_languages_are(pairs):
    english_form = re.compile(r"[A-Z][A-Za-z'-]*(,? [A-Za-z'-]+)*[.?]")
    wrong_article = re.compile(
        r"\b[Aa] (?!university)[aeiou]|\b[Aa]n (?!hour)[^aeiou]"
    )
    chinese_form = re.compile(r"[\u4e00-\u9fff]+(，[\u4e00-\u9fff]+)?[。？]")
    for english, chinese in pairs:
        assert english_form.fullmatch(english), english
        assert not wrong_article.search(english), english
        assert chinese_form.fullmatch(chinese), chinese
        assert english.endswith("?") == chinese.endswith("？"), english
        asks = "吗谁什么哪怎几多还是"
        if chinese.endswith("？"):
            assert any(word in chinese for word in asks), chinese


@pytest.mark.parametrize(
    ("number", "english", "chinese"),
    [
        (2, "two", "二"),
        (12, "twelve", "十二"),
        (20, "twenty", "二十"),
        (45, "forty-five", "四十五"),
        (105, "one hundred and five", "一百零五"),
        (110, "one hundred and ten", "一百一十"),
        (200, "two hundred", "两百"),
        (999, "nine hundred and ninety-nine", "九百九十九"),
    ],
)
def test_numbers_are_read_out_in_both_languages(number, english, chinese):
    assert english_number(number) == english
    assert chinese_number(number) == chinese
