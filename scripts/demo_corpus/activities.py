"""Activities: verbs with their usual objects, and where people do them."""

from scripts.demo_corpus import nouns
from scripts.demo_corpus.words import Activity, Noun, Verb

# Base, past, participle; the gerund and third person where irregular.
_FORMS = """
ask asked asked
borrow borrowed borrowed
break broke broken
brush brushed brushed
buy bought bought
call called called
chat chatted chatted chatting
clean cleaned cleaned
close closed closed
come came come
cook cooked cooked
dance danced danced
do did done
draw drew drawn
drink drank drunk
drive drove driven
eat ate eaten
exercise exercised exercised
find found found
finish finished finished
get got gotten getting
give gave given
go went gone
hate hated hated
have had had having has
help helped helped
invite invited invited
know knew known
learn learned learned
leave left left
lend lent lent
like liked liked
listen listened listened
live lived lived
lose lost lost
love loved loved
make made made
meet met met
miss missed missed
need needed needed
open opened opened
play played played
put put put putting
read read read
rest rested rested
ride rode ridden
run ran run running
say said said
see saw seen
sell sold sold
send sent sent
sing sang sung
sleep slept slept
speak spoke spoken
stay stayed stayed
steal stole stolen
study studied studied
swim swam swum swimming
take took taken
teach taught taught
tell told told
thank thanked thanked
think thought thought
turn turned turned
travel traveled traveled
trust trusted trusted
use used used
visit visited visited
wait waited waited
want wanted wanted
wash washed washed
watch watched watched
wear wore worn
work worked worked
write wrote written
"""
VERBS = {
    row.split()[0]: Verb.from_forms(row) for row in _FORMS.strip().split("\n")
}


def _activity(english: str, chinese: str, places: str = "") -> Activity:
    """From "listen to music", "听 音乐" and places parted by commas."""
    base, _, tail = english.partition(" ")
    verb, _, object_ = chinese.partition(" ")
    named = tuple(places.split(", ")) if places else ()
    return Activity(VERBS[base], tail, verb, object_, named)


ACTIVITIES = (
    _activity("read books", "看 书", "library, home, school, park"),
    _activity("read the newspaper", "看 报纸", "home, office, garden"),
    _activity("watch television", "看 电视", "home, living room"),
    _activity("listen to music", "听 音乐", "home, park, living room"),
    _activity("play basketball", "打 篮球", "school, park, university"),
    _activity("play football", "踢 足球", "school, park"),
    _activity("play the piano", "弹 钢琴", "home, school, living room"),
    _activity("play the guitar", "弹 吉他", "home, park, garden"),
    _activity("play computer games", "玩 电脑游戏", "home"),
    _activity("run", "跑 步", "park, school"),
    _activity("swim", "游 泳", "school, hotel"),
    _activity("dance", "跳 舞", "park, living room"),
    _activity("sing", "唱 歌", "park, school"),
    _activity("cook", "做 饭", "home, kitchen"),
    _activity("work", "工作", "office, hospital, bank, factory, library"),
    _activity("study", "学习", "library, school, home, university"),
    _activity("study English", "学 英语", "school, university, library"),
    _activity("study Chinese", "学 中文", "school, university, library"),
    _activity("drink tea", "喝 茶", "home, garden, restaurant, office"),
    _activity("drink coffee", "喝 咖啡", "home, office, hotel, airport"),
    _activity("do homework", "做 作业", "home, library, school"),
    _activity("wash clothes", "洗 衣服", "home"),
    _activity("exercise", "锻炼", "park, home"),
    _activity("draw pictures", "画 画", "park, garden, school"),
    _activity("take photos", "拍 照", "park, garden, zoo"),
    _activity("write letters", "写 信", "home, office"),
    _activity("eat noodles", "吃 面条", "restaurant, home"),
    _activity("chat", "聊 天", "park, restaurant, classroom"),
)
MEALS = (
    _activity("have breakfast", "吃 早饭", "home, hotel, school"),
    _activity("have lunch", "吃 午饭", "home, restaurant, school, office"),
    _activity("have dinner", "吃 晚饭", "home, restaurant, hotel"),
)
GET_UP = _activity("get up", "起 床")
GO_TO_BED = _activity("go to bed", "睡 觉")
REST = _activity("rest", "休息")
GO_TO_WORK = _activity("go to work", "上 班")
GO_HOME = _activity("go home", "回 家")
ROUTINES = (GET_UP, GO_TO_BED, GO_TO_WORK, GO_HOME, *MEALS)

# Learnt skills: "can" is 会, and they are done well or badly (游得很好).
SKILLS = (
    _activity("swim", "游 泳"),
    _activity("cook", "做 饭"),
    _activity("drive", "开 车"),
    _activity("sing", "唱 歌"),
    _activity("dance", "跳 舞"),
    _activity("play the piano", "弹 钢琴"),
    _activity("play the guitar", "弹 吉他"),
    _activity("play basketball", "打 篮球"),
    _activity("play football", "踢 足球"),
    _activity("speak Chinese", "说 中文"),
    _activity("speak English", "说 英语"),
    _activity("speak French", "说 法语"),
    _activity("speak Japanese", "说 日语"),
    _activity("ride a bicycle", "骑 自行车"),
    _activity("write poems", "写 诗"),
)

# Verbs whose objects are counted: the verb, its Chinese, what suits it.
TRADES: tuple[tuple[Verb, str, tuple[Noun, ...]], ...] = (
    (VERBS["buy"], "买", nouns.GOODS + nouns.FRUIT),
    (VERBS["sell"], "卖", nouns.VEHICLES + nouns.FURNITURE + nouns.DEVICES),
    (VERBS["read"], "看", nouns.READING),
    (VERBS["write"], "写", nouns.WRITING),
    (VERBS["eat"], "吃", nouns.FOODS),
    (VERBS["drink"], "喝", nouns.DRINKS),
    (VERBS["draw"], "画", nouns.ANIMALS + nouns.PLANTS),
    (VERBS["lose"], "丢", nouns.BELONGINGS),
    (VERBS["find"], "找到", nouns.BELONGINGS),
    (VERBS["make"], "做", nouns.FURNITURE[:2] + nouns.FOODS[5:7]),
    (VERBS["watch"], "看", nouns.MOVIES),
    (VERBS["wash"], "洗", nouns.CLOTHES + nouns.FRUIT),
)
# What one can intend, want or be asked to do.
INTENDED = tuple(trade for trade in TRADES if trade[1] not in ("丢", "找到"))

FEELING_VERBS = (
    (VERBS["like"], "喜欢"),
    (VERBS["love"], "爱"),
    (VERBS["miss"], "想念"),
    (VERBS["know"], "认识"),
    (VERBS["trust"], "相信"),
    (VERBS["hate"], "讨厌"),
)
# Done to people: {} is the person, * where 了 goes when it is over.
PERSON_VERBS = (
    (VERBS["help"], "帮助*{}"),
    (VERBS["call"], "给{}打*电话"),
    (VERBS["visit"], "看望*{}"),
    (VERBS["meet"], "见*{}"),
)
# Liked in general: "likes cats" 喜欢猫.
LIKED = (
    *((noun.plural, noun.chinese) for noun in nouns.PETS + nouns.FRUIT),
    ("horses", "马"),
    ("flowers", "花"),
    ("tea", "茶"),
    ("coffee", "咖啡"),
    ("milk", "牛奶"),
    ("rice", "米饭"),
    ("noodles", "面条"),
    ("music", "音乐"),
    ("English", "英语"),
    ("Chinese", "中文"),
    ("basketball", "篮球"),
    ("football", "足球"),
)
