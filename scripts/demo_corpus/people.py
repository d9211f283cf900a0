"""People: pronouns, names, kin, professions, and how verbs agree with them."""

from dataclasses import dataclass, replace

from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.words import (
    Pair,
    Verb,
    joined,
    with_article,
)


@dataclass(frozen=True, slots=True)
class Person:
    """Who does it, or to whom it is done.

    `agreement` is the pronoun whose verb forms this person takes (I, you,
    he, they). `possessive` and `pronoun` point back to the person: Tom
    loves his mother, 汤姆爱他妈妈. `of` is the form before a thing: Tom's.
    """

    english: str
    chinese: str
    agreement: str
    object: str
    possessive: str
    pronoun: str
    chinese_pronoun: str
    of: str

    @property
    def be(self) -> str:
        return {"I": "am", "he": "is"}.get(self.agreement, "are")

    @property
    def was(self) -> str:
        return "was" if self.agreement in ("I", "he") else "were"

    @property
    def have(self) -> str:
        return "has" if self.agreement == "he" else "have"

    @property
    def do(self) -> str:
        return "does" if self.agreement == "he" else "do"

    @property
    def plural(self) -> bool:
        return self.agreement == "they" or self.english == "we"

    def present(self, verb: Verb) -> str:
        """The present form of the verb that goes with this person."""
        return verb.third if self.agreement == "he" else verb.base

    def form(self) -> str:
        """The name of that form, for `Activity.english`."""
        return "third" if self.agreement == "he" else "base"


def _pronoun(english: str, forms: str, agreement: str, chinese: str) -> Person:
    object_, possessive = forms.split()
    return Person(
        english, chinese, agreement, object_, possessive, english, chinese,
        possessive,
    )  # fmt: skip


I = _pronoun("I", "me my", "I", "我")  # noqa: E741
YOU = _pronoun("you", "you your", "you", "你")
HE = _pronoun("he", "him his", "he", "他")
SHE = _pronoun("she", "her her", "he", "她")
WE = _pronoun("we", "us our", "you", "我们")
THEY = _pronoun("they", "them their", "they", "他们")
PRONOUNS = (I, YOU, HE, SHE, WE, THEY)
# Nobody tells others much about themselves: few statements begin with "you".
_TOLD_OF = (I, I, I, HE, HE, SHE, SHE, WE, THEY, YOU)


def _third(english: str, chinese: str, like: Person) -> Person:
    return replace(
        like, english=english, chinese=chinese, object=english,
        of=f"{english}'s",
    )  # fmt: skip


NAMES = (
    _third("Tom", "汤姆", HE),
    _third("Mary", "玛丽", SHE),
    _third("John", "约翰", HE),
    _third("Anna", "安娜", SHE),
    _third("David", "大卫", HE),
    _third("Lucy", "露西", SHE),
    _third("Li Ming", "李明", HE),
    _third("Wang Fang", "王芳", SHE),
)
_KIN = (
    ("mother", "妈妈", SHE, (I, YOU, HE, SHE)),
    ("father", "爸爸", HE, (I, YOU, HE, SHE)),
    ("older brother", "哥哥", HE, (I, YOU, HE, SHE)),
    ("older sister", "姐姐", SHE, (I, YOU, HE, SHE)),
    ("younger brother", "弟弟", HE, (I, YOU, HE, SHE)),
    ("younger sister", "妹妹", SHE, (I, YOU, HE, SHE)),
    ("grandmother", "奶奶", SHE, (I, YOU, HE, SHE)),
    ("grandfather", "爷爷", HE, (I, YOU, HE, SHE)),
    ("son", "儿子", HE, (I, HE, SHE)),
    ("daughter", "女儿", SHE, (I, HE, SHE)),
    ("wife", "妻子", SHE, (I, HE)),
    ("husband", "丈夫", HE, (I, SHE)),
    ("parents", "父母", THEY, (I, YOU, HE, SHE)),
)
# Close kin take no 的 after a pronoun: 我妈妈.
KIN = tuple(
    replace(
        _third(f"{owner.possessive} {word}", owner.chinese + chinese, like),
        of=f"{owner.possessive} {word}'" + ("" if like is THEY else "s"),
    )
    for word, chinese, like, owners in _KIN
    for owner in owners
)
_KIN_OF_OTHERS = tuple(
    person for person in KIN if not person.english.startswith("my ")
)
SIBLINGS = tuple(
    person for person in KIN if person.english.endswith(("brother", "sister"))
)
_ACQUAINTANCES = (
    ("friend", "朋友"),
    ("classmate", "同学"),
    ("neighbor", "邻居"),
    ("boss", "老板"),
)
PROFESSIONS = (
    ("teacher", "teachers", "老师"),
    ("doctor", "doctors", "医生"),
    ("nurse", "nurses", "护士"),
    ("student", "students", "学生"),
    ("driver", "drivers", "司机"),
    ("lawyer", "lawyers", "律师"),
    ("writer", "writers", "作家"),
    ("singer", "singers", "歌手"),
    ("engineer", "engineers", "工程师"),
    ("cook", "cooks", "厨师"),
    ("police officer", "police officers", "警察"),
    ("farmer", "farmers", "农民"),
    ("journalist", "journalists", "记者"),
)
# Their gender is open, so nothing in a sentence points back to them.
OTHERS = tuple(
    _third(f"{owner.possessive} {word}", f"{owner.chinese}的{chinese}", HE)
    for word, chinese in _ACQUAINTANCES
    for owner in (I, HE, SHE)
) + tuple(
    _third(f"the {word}", chinese, HE) for word, _, chinese in PROFESSIONS
)


def known_person(draw: Draw) -> Person:
    """A person whose pronoun is known: a pronoun, a name or kin."""
    kind = draw.below(10)
    if kind < 5:
        return draw.one(_TOLD_OF)
    return draw.one(NAMES if kind < 8 else KIN)


def asked_about(draw: Draw) -> Person:
    """The subject of a question: most often "you", never "I" or "we"."""
    kind = draw.below(10)
    if kind < 3:
        return YOU
    if kind < 6:
        return draw.one((HE, SHE, THEY))
    return draw.one(NAMES if kind < 8 else _KIN_OF_OTHERS)


def subject_of(draw: Draw, asked: bool) -> Person:
    """The subject of a question or of a statement."""
    return asked_about(draw) if asked else subject(draw)


def third_person(draw: Draw) -> Person:
    """A name, kin, he, she or they."""
    kind = draw.below(10)
    if kind < 4:
        return draw.one((HE, SHE, THEY))
    return draw.one(NAMES if kind < 7 else KIN)


def named_person(draw: Draw) -> Person:
    """A name or kin, for sentences that need more than a pronoun."""
    return draw.one(NAMES if draw.chance(0.5) else KIN)


def subject(draw: Draw) -> Person:
    """Anybody: pronoun, name, kin, profession, or two people."""
    kind = draw.below(20)
    if kind < 17:
        return known_person(draw)
    return draw.one(OTHERS) if kind < 19 else couple(draw)


def couple(draw: Draw) -> Person:
    """Two people: Tom and Mary, 汤姆和玛丽."""
    first, second = draw.two(NAMES)
    return _third(
        f"{first.english} and {second.english}",
        f"{first.chinese}和{second.chinese}",
        THEY,
    )


def other_person(draw: Draw, first: Person, source=known_person) -> Person:
    """Somebody else, so that nobody acts on himself by mistake."""
    same = {first.pronoun, first.possessive}
    while True:
        person = source(draw)
        together = {person.pronoun, first.pronoun}
        if together in ({"I", "we"}, {"I"}, {"you"}, {"we"}, {"we", "you"}):
            continue
        if person.english in (first.english, *same):
            continue
        if person.english in first.english.split(" and "):
            continue
        # "Tom likes his mother" is clear, "he likes Tom's" is not asked for.
        if person.pronoun == first.english or person.english == first.pronoun:
            continue
        kin = person in KIN and first in KIN and person != first
        if kin and person.english.split()[0] != first.english.split()[0]:
            continue
        return person


def owned(owner: Person, english: str, chinese: str) -> Pair:
    """His book, 他的书: the owner is who `possessive` points to."""
    return (
        joined(owner.possessive, english),
        f"{owner.chinese_pronoun}的{chinese}",
    )


def as_profession(person: Person, profession: tuple[str, str, str]) -> Pair:
    """a doctor / doctors, 医生."""
    singular, plural, chinese = profession
    return (plural if person.plural else with_article(singular)), chinese
