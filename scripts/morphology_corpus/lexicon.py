"""English words and the stems that the invented language has for them."""

import itertools

from scripts.demo_corpus.draw import Draw
from scripts.morphology_corpus.suffixes import BACK, FRONT

NOUNS = """
man woman child teacher doctor farmer soldier king queen friend neighbour
brother sister mother father uncle daughter student driver singer painter baker
dog cat horse cow bird fish sheep wolf bear fox mouse goat duck rabbit lion
house garden door window table chair bed lamp wall roof kitchen bridge street
village city school market church station river lake sea mountain forest field
island road tower castle harbour shop factory hospital library museum park
book letter newspaper picture map song story word name number question answer
bread milk water apple cheese egg salt soup cake honey meat butter tea coffee
knife spoon plate cup bottle basket box bag key rope hammer needle clock ring
coat shirt hat shoe glove belt blanket pillow carpet mirror candle stone tree
flower leaf root seed stick wheel boat ship train car bicycle cart ladder
morning evening night summer winter storm cloud wind star moon sun shadow fire
""".split()
PEOPLE = NOUNS[:22]
ANIMALS = NOUNS[22:37]
PLACES = NOUNS[37:74]
PLURALS = {
    "man": "men",
    "woman": "women",
    "child": "children",
    "fish": "fish",
    "sheep": "sheep",
    "wolf": "wolves",
    "mouse": "mice",
    "knife": "knives",
    "leaf": "leaves",
}
ADJECTIVES = """
old young big small long short new good bad red blue green white black yellow
heavy light cold warm strong weak rich poor happy sad clean dirty quiet loud
beautiful ugly wise brave tired hungry empty full broken sharp soft
""".split()
# Verb, past; all of them take an object.
VERBS = [
    tuple(pair.split("/"))
    for pair in """
    see/saw find/found buy/bought sell/sold take/took bring/brought
    carry/carried love/loved hate/hated know/knew hear/heard watch/watched
    follow/followed help/helped call/called teach/taught paint/painted
    wash/washed clean/cleaned open/opened close/closed build/built
    break/broke repair/repaired lose/lost hide/hid steal/stole keep/kept
    throw/threw catch/caught pull/pulled push/pushed cut/cut burn/burned
    count/counted choose/chose want/wanted remember/remembered
    forget/forgot draw/drew read/read write/wrote hold/held
    """.split()
]
# Movement to and from places.
MOVES = [
    tuple(pair.split("/"))
    for pair in "go/went come/came walk/walked run/ran travel/travelled "
    "return/returned swim/swam climb/climbed".split()
]
ADVERBS = "often slowly again quickly quietly together sometimes".split()


def stems(seed: int) -> dict[str, str]:
    """An invented stem for each English word, no two alike."""
    draw = Draw(seed)
    words = itertools.chain(
        NOUNS,
        ADJECTIVES,
        (verb for verb, _ in VERBS),
        (verb for verb, _ in MOVES),
        ADVERBS,
    )
    found: dict[str, str] = {}
    for word in words:
        # A word such as "clean" is two, an adjective and a verb.
        key = f"{word}+" if word in found else word
        stem = _stem(draw)
        while stem in found.values():
            stem = _stem(draw)
        found[key] = stem
    return found


def _stem(draw):
    """One to three syllables, their vowels all front or all back."""
    vowels = draw.one((BACK, FRONT))
    syllables = [
        draw.one("bcçdfghklmnprsştvyz") + draw.one(vowels)
        for _ in range(draw.between(1, 3))
    ]
    return "".join(syllables) + draw.one("klmnprstçzş")
