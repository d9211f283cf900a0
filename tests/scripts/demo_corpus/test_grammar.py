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
identity	She is a doctor.	她是医生。
identity	They are not journalists.	他们不是记者。
feeling	She is thirsty today.	她今天很渴。
feeling	Is he hungry?	他饿吗？
feeling	I am too tired.	我太累了。
quality	Is that cat small?	那只猫小吗？
quality	Those shoes are new.	那些鞋很新。
quality	This book is not interesting.	这本书没有意思。
possession	She has two cats.	她有两只猫。
possession	He has a book.	他有一本书。
belongs	That car is ours.	那辆车是我们的。
belongs	Whose pen is this?	这是谁的笔？
existence	There are five keys on the bed.	床上有五把钥匙。
location	The university is near the park.	大学在公园附近。
age	He is forty years old.	他四十岁。
price	This coat costs two hundred yuan.	这件大衣两百块钱。
placed_things	There are three maps hanging on the wall.	墙上挂着三张地图。
want_thing	Do you need a chair?	你需要一把椅子吗？
weather	It won't rain tonight.	今天晚上不会下雨。
time_of_day	It is already two o'clock.	已经两点了。
time_of_day	Today is May twelfth.	今天是五月十二号。
habit	She always chats.	她总是聊天。
routine	He gets up at eight o'clock in the morning.	他早上八点起床。
not_habit	I never swim.	我从来不游泳。
progressive	He is doing homework at home.	他正在家做作业。
liking	Do you like swimming?	你喜欢游泳吗？
wearing	She is wearing a red skirt.	她穿着一条红色的裙子。
wearing	I am wearing a black hat.	我戴着一顶黑色的帽子。
was_doing	I was cooking at eight o'clock last night.	我昨天晚上八点正在做饭。
past_activity	Did you swim yesterday?	你昨天游泳了吗？
past_trade	I watched two movies yesterday.	我昨天看了两部电影。
past_person	I didn't call him last night.	我昨天晚上没给他打电话。
finished	They haven't cooked yet.	他们还没做饭。
finished	I have already had breakfast.	我已经吃早饭了。
experience	He has never been to Japan.	他从来没去过日本。
experience	I have ridden a horse twice.	我骑过两次马。
lasting	I swam for two hours yesterday.	我昨天游了两个小时泳。
living_since	I have studied Chinese for two years.	我学了两年中文了。
future_person	I will call you tomorrow.	我明天会给你打电话。
going_to	I am going to swim tomorrow.	我明天要游泳。
went	I went to the park yesterday.	我昨天去了公园。
by_transport	I went to Beijing by train last year.	我去年坐火车去了北京。
purpose	I want to go to the park to dance.	我想去公园跳舞。
came_back	He came back from China last month.	他上个月从中国回来了。
together	I often dance with him.	我经常跟他一起跳舞。
gave	She gave me a gift.	她给了我一份礼物。
received	I received two letters yesterday.	我昨天收到了两封信。
taught	She teaches us English.	她教我们英语。
put_away	He put his key on the desk.	他把他的钥匙放在书桌上了。
passive	Your bicycle was stolen yesterday.	你的自行车昨天被偷走了。
skill	Can you swim?	你会游泳吗？
manner	She sings very well.	她唱歌唱得非常好。
manner	He doesn't speak English well.	他英语说得不好。
wish	I don't want to work.	我不想工作。
duty	You don't have to cook.	你不用做饭。
permission	May I dance here?	我可以在这里跳舞吗？
unable	I can't find my key.	我找不到我的钥匙。
more_than	Tom is taller than Mary.	汤姆比玛丽高。
years_apart	Tom is two years older than me.	汤姆比我大两岁。
as_much_as	She is as tall as me.	她跟我一样高。
superlative	She is the smartest student in the class.	她是班里最聪明的学生。
preference	I like tea more than coffee.	比起咖啡，我更喜欢茶。
who	Who wants to sing?	谁想唱歌？
what	What did you buy yesterday?	你昨天买了什么？
where	Where did you go yesterday?	你昨天去了哪里？
when	When did you go to China?	你是什么时候去中国的？
why	Why are you so tired?	你为什么这么累？
how	How did you go to Paris?	你是怎么去巴黎的？
how_many	How many cups do you have?	你有几个杯子？
how_many	How many students are there at school?	学校里有多少个学生？
which	Which hat do you like?	你喜欢哪顶帽子？
because	I stayed at home because it was raining.	因为下雨，所以我待在家里。
if_weather	If it rains tomorrow, I will stay at home.	如果明天下雨，我就待在家里。
when_state	He never swims when he is sad.	他难过的时候从来不游泳。
before_after	I always dance after I get up.	我起床以后总是跳舞。
although	Although he is sick, he still wants to work.	虽然他生病了，但是他还是想工作。
while_doing	I often sing while I cook.	我经常一边做饭，一边唱歌。
as_soon_as	I will call you as soon as I get home.	我一到家就会给你打电话。
but	I want to go to Japan, but I don't have money.	我想去日本，但是我没有钱。
belief	I think that Mary is not rich.	我觉得玛丽没有钱。
indirect	I don't know where you live.	我不知道你住在哪里。
relative_person	The man who is dancing is my friend.	在跳舞的男人是我的朋友。
relative_thing	The movie that I watched yesterday is long.	我昨天看的电影很长。
chore	Please open the window.	请打开窗户。
chore	She cleaned the room yesterday.	她昨天打扫了房间。
please	Please wait for me at the station.	请在车站等我。
dont	Don't take photos here.	别在这里拍照。
lets	Let's go to the park tomorrow.	我们明天去公园吧。
could_you	Could you lend me your pen?	你能把你的笔借给我吗？
"""  # noqa: E501


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


def test_english_looks_like_english(pairs):
    form = re.compile(r"[A-Z][A-Za-z' -]*(, [A-Za-z' -]+)?[.?]")
    for english, _ in pairs:
        assert form.fullmatch(english), english
        assert "  " not in english, english
        assert " ." not in english, english


def test_articles_fit_the_next_word(pairs):
    for english, _ in pairs:
        text = f" {english}"
        assert not re.search(r"\b[Aa] (?!university)[aeiou]", text), english
        assert not re.search(r"\b[Aa]n (?!hour)[^aeiou]", text), english


def test_subject_and_verb_agree(pairs):
    singular = r"(?:He|She|Tom|Mary|Anna|My mother|Her father)"
    plain = (
        r"(?:am|are|have|do|don't|haven't|go|like|want|need|know|think|read|"
        r"drink|play|study|speak|teach)"
    )
    wrong = [
        rf"^{singular} (?:{plain}) (?!\w+ed\b)",
        r"^(?:I|You|We|They) (?:is|has|does|doesn't|hasn't|goes|likes|wants|"
        r"needs|knows|thinks|reads|drinks|plays|studies|speaks|teaches)\b",
        r"^(?:You|We|They) (?:am|was)\b",
        r"^(?:Does|Is|Has) (?:I|you|we|they)\b",
        r"^(?:Do|Are|Have) (?:he|she|Tom|Mary|Anna)\b(?! and)",
    ]
    past_read = re.compile(r" (ago|last|yesterday|this morning)")
    for english, _ in pairs:
        for pattern in wrong:
            hit = re.search(pattern, english)
            if hit and " read " in hit.group() and past_read.search(english):
                continue
            assert not hit, english


def test_questions_end_in_question_marks_on_both_sides(pairs):
    for english, chinese in pairs:
        assert english.endswith("?") == chinese.endswith("？"), english
        asks = "吗谁什么哪怎几多还是"
        if chinese.endswith("？"):
            assert any(word in chinese for word in asks), chinese


def test_chinese_is_written_in_chinese(pairs):
    form = re.compile(r"[\u4e00-\u9fff]+(，[\u4e00-\u9fff]+)?[。？]")
    for _, chinese in pairs:
        assert form.fullmatch(chinese), chinese


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
