"""Two clauses in one sentence: because, if, when, before, although, while."""

from keras_transformer.data.builtin import nouns, places
from keras_transformer.data.builtin.activities import (
    ACTIVITIES,
    GET_UP,
    GO_TO_BED,
    GO_TO_WORK,
    MEALS,
    PERSON_VERBS,
)
from keras_transformer.data.builtin.draw import Draw
from keras_transformer.data.builtin.people import (
    Person,
    known_person,
    named_person,
    other_person,
    subject,
)
from keras_transformer.data.builtin.words import Pair, statement

# A reason said of a person with "was", and what it kept him from or made
# him do. {} is the person.
_STATES = (
    ("tired", "很累"),
    ("busy", "很忙"),
    ("sick", "生病了"),
    ("hungry", "饿了"),
    ("sad", "很难过"),
)
_WEATHER_REASONS = (
    ("it was raining", "下雨"),
    ("it was snowing", "下雪"),
    ("it was too cold", "太冷"),
    ("it was too hot", "太热"),
)
_STAYED = (
    ("stayed at home", "待在家里"),
    ("didn't go out", "没出门"),
    ("came home early", "很早就回家了"),
)


def _outcome(draw: Draw, state: str) -> Pair:
    """What a person did for a reason: "didn't go to school" 没去学校."""
    indoors = bool(state)
    if state == "hungry":
        noun = draw.one(nouns.FOODS)
        number, chinese_number = draw.one((("two", "两"), ("three", "三")))
        return (
            f"ate {number} {noun.plural}",
            f"吃了{chinese_number}{noun.measure}{noun.chinese}",
        )
    style = draw.below(3)
    if style == 0:
        # Who is busy doesn't come home early.
        return draw.one(_STAYED[:1] if state == "busy" else _STAYED)
    if style == 1:
        place = draw.one(places.GOALS)
        return f"didn't go {place.destination}", f"没去{place.chinese}"
    activity = draw.one(ACTIVITIES if indoors else _OUT)
    return f"didn't {activity.english('base')}", f"没{activity.chinese}"


def because(draw: Draw) -> Pair:
    """Tom didn't go to school because he was sick."""
    person = known_person(draw)
    if draw.chance(0.6):
        state, chinese_state = draw.one(_STATES)
        reason = f"{person.pronoun} {person.was} {state}"
        chinese_reason = f"{person.chinese_pronoun}{chinese_state}"
    else:
        reason, chinese_reason = draw.one(_WEATHER_REASONS)
        state = ""
    outcome, chinese_outcome = _outcome(draw, state)
    chinese = f"因为{chinese_reason}，所以{person.chinese}{chinese_outcome}"
    if chinese_reason.startswith(person.chinese_pronoun):
        # The name comes first in Chinese, the pronoun after it.
        state = chinese_reason.removeprefix(person.chinese_pronoun)
        chinese = (
            f"因为{person.chinese}{state}，"
            f"所以{person.chinese_pronoun}{chinese_outcome}"
        )
    if draw.chance(0.5):
        return statement(
            f"{person.english} {outcome} because {reason}", chinese
        )
    if person.pronoun != person.english and "it " not in reason:
        reason = reason.replace(person.pronoun, person.english, 1)
        subject_again = person.pronoun
    else:
        subject_again = person.english
    return statement(f"because {reason}, {subject_again} {outcome}", chinese)


_CONDITIONS = (
    ("it rains tomorrow", "明天下雨", False),
    ("it snows tomorrow", "明天下雪", False),
    ("it is cold tomorrow", "明天很冷", False),
    ("the weather is good tomorrow", "明天天气好", True),
    ("it is warm tomorrow", "明天很暖和", True),
)


def _plan(draw: Draw, outdoors: bool) -> Pair:
    """What to do: "go to the park" 去公园, "stay at home" 待在家里."""
    if outdoors:
        place = draw.one(
            (places.INSIDE["park"], places.BUILDINGS["zoo"],
             places.BUILDINGS["market"])
        )  # fmt: skip
        return f"go {place.destination}", f"去{place.chinese}"
    if draw.chance(0.4):
        return "stay at home", "待在家里"
    activity = draw.one(_AT_HOME)
    return f"{activity.english('base')} at home", f"在家{activity.chinese}"


_AT_HOME = tuple(a for a in ACTIVITIES + MEALS if "home" in a.places)
_OUT = tuple(a for a in ACTIVITIES if "park" in a.places)


def if_weather(draw: Draw) -> Pair:
    """If it rains tomorrow, we will stay at home."""
    person = subject(draw)
    condition, chinese_condition, outdoors = draw.one(_CONDITIONS)
    plan, chinese_plan = _plan(draw, outdoors)
    will, chinese_will = "will", "就"
    if draw.chance(0.25):
        will, chinese_will = "won't", "就不"
        plan, chinese_plan = _plan(draw, not outdoors)
    chinese = (
        f"如果{chinese_condition}，{person.chinese}{chinese_will}{chinese_plan}"
    )
    if draw.chance(0.5):
        return statement(
            f"if {condition}, {person.english} {will} {plan}", chinese
        )
    return statement(f"{person.english} {will} {plan} if {condition}", chinese)


def if_person(draw: Draw) -> Pair:
    """If you have time tomorrow, I will help you."""
    person = known_person(draw)
    other = other_person(draw, person)
    has = person.have
    needs = "needs" if person.agreement == "he" else "need"
    condition, chinese_condition = draw.one(
        (
            (f"{person.english} {has} time", f"{person.chinese}有时间"),
            (f"{person.english} {person.be} busy", f"{person.chinese}很忙"),
            (f"{person.english} {person.be} at home", f"{person.chinese}在家"),
            (f"{person.english} {needs} help", f"{person.chinese}需要帮助"),
        )
    )
    verb, frame = draw.one(PERSON_VERBS[:3])
    not_, chinese_not = ("will", "就会") if "busy" not in condition else (
        "won't", "就不会")  # fmt: skip
    if needs in condition:
        verb, frame = PERSON_VERBS[0]
    target, chinese_target = _back_to(person)
    action = frame.format(chinese_target).replace("*", "")
    return statement(
        f"if {condition}, {other.english} {not_} {verb.base} {target}",
        f"如果{chinese_condition}，{other.chinese}{chinese_not}{action}",
    )


def _back_to(person: Person) -> Pair:
    """The pronoun that takes up the person: him 他."""
    words = {"he": "him", "she": "her", "they": "them"}
    target = words.get(person.pronoun, person.object)
    return target, person.chinese_pronoun


_MOODS = (
    ("tired", "累"),
    ("happy", "高兴"),
    ("sad", "难过"),
    ("nervous", "紧张"),
    ("busy", "忙"),
)


def when_state(draw: Draw) -> Pair:
    """When she is tired, she often listens to music."""
    person = known_person(draw)
    mood, chinese_mood = draw.one(_MOODS)
    activity = draw.one(ACTIVITIES)
    while mood == "busy" and activity.chinese != "喝咖啡":
        mood, chinese_mood = draw.one(_MOODS)
    often, chinese_often = draw.one(
        (("often", "经常"), ("always", "总是"), ("never", "从来不"))
    )
    action = activity.english(person.form())
    if draw.chance(0.5):
        english = (
            f"when {person.english} {person.be} {mood}, {person.pronoun} "
            f"{often} {action}"
        )
    else:
        english = (
            f"{person.english} {often} {action} when {person.pronoun} "
            f"{person.be} {mood}"
        )
    return statement(
        english,
        f"{person.chinese}{chinese_mood}的时候{chinese_often}"
        f"{activity.chinese}",
    )


def when_arrived(draw: Draw) -> Pair:
    """When I got home, my mother was cooking."""
    person = known_person(draw)
    other = other_person(draw, person, named_person)
    activity = draw.one(ACTIVITIES + MEALS)
    if draw.chance(0.4):
        place = draw.one(places.GOALS)
        arrival = f"got {place.destination}"
        chinese_arrival = f"到{place.chinese}"
    else:
        arrival, chinese_arrival = draw.one(
            (("got home", "到家"), ("got up", "起床"))
        )
    clause = f"{person.english} {arrival}"
    main = f"{other.english} {other.was} {activity.english('gerund')}"
    chinese = (
        f"{person.chinese}{chinese_arrival}的时候，"
        f"{other.chinese}正在{activity.chinese}"
    )
    if draw.chance(0.5):
        return statement(f"when {clause}, {main}", chinese)
    return statement(f"{main} when {clause}", chinese)


_LEISURE = tuple(
    a
    for a in ACTIVITIES
    if a.chinese
    not in ("踢足球", "打篮球", "做饭", "工作", "拍照", "画画", "吃面条")
)
_HOMEWORK = tuple(a for a in ACTIVITIES if a.chinese == "做作业")
_BEFORE = MEALS + _HOMEWORK + (GO_TO_BED, GO_TO_WORK)
_AFTER = MEALS + _HOMEWORK + (GET_UP,)


def before_after(draw: Draw) -> Pair:
    """He exercises before he has breakfast. 他吃早饭以前锻炼."""
    person = known_person(draw)
    word, chinese, events = draw.one(
        (("before", "以前", _BEFORE), ("after", "以后", _AFTER))
    )
    first, second = draw.one(_LEISURE), draw.one(events)
    while first == second:
        first = draw.one(_LEISURE)
    often, chinese_often = draw.one(
        (("always", "总是"), ("usually", "通常"), ("often", "经常"))
    )
    form = person.form()
    return statement(
        f"{person.english} {often} {first.english(form)} {word} "
        f"{person.pronoun} {second.english(form)}",
        f"{person.chinese}{second.chinese}{chinese}{chinese_often}"
        f"{first.chinese}",
    )


def although(draw: Draw) -> Pair:
    """Although he is very busy, he plays basketball every day."""
    person = known_person(draw)
    state, chinese_state = draw.one(
        (("very busy", "非常忙"), ("very tired", "非常累"),
         ("very nervous", "非常紧张"), ("sick", "生病了"))
    )  # fmt: skip
    activity = draw.one(_EFFORTS)
    wants = "wants" if person.agreement == "he" else "want"
    still, chinese_still = draw.one(
        (
            (f"still {wants} to {activity.english('base')}", "还是想"),
            (f"{activity.english(person.form())} every day", "每天"),
        )
    )
    return statement(
        f"although {person.english} {person.be} {state}, {person.pronoun} "
        f"{still}",
        f"虽然{person.chinese}{chinese_state}，但是{person.chinese_pronoun}"
        f"{chinese_still}{activity.chinese}",
    )


_EFFORTS = tuple(
    a for a in ACTIVITIES if a.chinese not in ("休息", "聊天", "看电视")
)
_WITH_EARS = tuple(
    a
    for a in ACTIVITIES
    if a.chinese in ("听音乐", "唱歌", "聊天", "喝茶", "喝咖啡")
)
_WITH_HANDS = tuple(
    a
    for a in ACTIVITIES + MEALS
    if a.chinese
    in ("做饭", "看报纸", "看书", "做作业", "洗衣服", "画画", "写信", "工作")
    or a in MEALS
)


def while_doing(draw: Draw) -> Pair:
    """She listens to music while she cooks. 她一边做饭，一边听音乐."""
    person = known_person(draw)
    first, second = draw.one(_WITH_EARS), draw.one(_WITH_HANDS)
    if second in MEALS:
        first = _WITH_EARS[0]
    form = person.form()
    often, chinese_often = draw.one(
        (("often ", "经常"), ("sometimes ", "有时候"), ("always ", "总是"))
    )
    return statement(
        f"{person.english} {often}{first.english(form)} while "
        f"{person.pronoun} {second.english(form)}",
        f"{person.chinese}{chinese_often}一边{second.chinese}，"
        f"一边{first.chinese}",
    )


def as_soon_as(draw: Draw) -> Pair:
    """I will call you as soon as I get home. 我一到家就给你打电话."""
    person = known_person(draw)
    other = other_person(draw, person)
    place = draw.one(places.GOALS[:12] + places.FAR_GOALS)
    get = "gets" if person.agreement == "he" else "get"
    target, chinese_place = draw.one(
        (("home", "家"), (place.destination, place.chinese))
    )
    return statement(
        f"{person.english} will call {other.object} as soon as "
        f"{person.pronoun} {get} {target}",
        f"{person.chinese}一到{chinese_place}就会给{other.chinese}打电话",
    )


def but(draw: Draw) -> Pair:
    """I like coffee, but I don't like tea. / He can swim, but she can't."""
    person = known_person(draw)
    first, second = draw.two(ACTIVITIES)
    like = "likes" if person.agreement == "he" else "like"
    if draw.chance(0.5):
        return statement(
            f"{person.english} {like} {first.english('gerund')}, but "
            f"{person.pronoun} {person.do}n't like {second.english('gerund')}",
            f"{person.chinese}喜欢{first.chinese}，但是"
            f"{person.chinese_pronoun}不喜欢{second.chinese}",
        )
    place = draw.one(places.FAR_GOALS)
    want = "wants" if person.agreement == "he" else "want"
    lack, chinese_lack = draw.one((("time", "时间"), ("money", "钱")))
    return statement(
        f"{person.english} {want} to go {place.destination}, but "
        f"{person.pronoun} {person.do}n't have {lack}",
        f"{person.chinese}想去{place.chinese}，但是"
        f"{person.chinese_pronoun}没有{chinese_lack}",
    )
