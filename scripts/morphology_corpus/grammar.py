"""Sentences in English and in the invented language, drawn at random."""

from dataclasses import dataclass

from scripts.demo_corpus.draw import Draw
from scripts.demo_corpus.words import Pair, regular_third, with_article
from scripts.morphology_corpus import lexicon
from scripts.morphology_corpus.suffixes import inflect

# Person: English subject, possessive, the suffixes of what they own and of
# what they do.
_PERSONS = (
    ("I", "my", "(I)m", "(I)m"),
    ("you", "your", "(I)n", "(I)n"),
    ("we", "our", "(I)mIz", "(I)k"),
    ("they", "their", "lArI", "lAr"),
)
_TENSES = ("past", "present", "future")
_MARKS = {"past": "DI", "present": "(I)yor", "future": "(y)AcAk"}
_PLACED = (("in", "DA"), ("from", "DAn"))  # and the case for it


@dataclass(frozen=True)
class Phrase:
    """A noun phrase in both languages; `other` has no ending of a case.

    `theirs` is whether `other` ends in the suffix for "their".
    """

    english: str
    other: str
    plural: bool
    theirs: bool = False

    def case(self, suffix: str) -> str:
        """The other language's words with the ending of a case."""
        if self.theirs:
            suffix = "n" + suffix.removeprefix("(y)")
        return inflect(self.other, suffix)


class Grammar:
    """Draws pairs of sentences that mean the same.

    Args:
        seed: of the invented stems.
    """

    def __init__(self, seed: int = 1) -> None:
        self._stems = lexicon.stems(seed)

    def pair(self, draw: Draw) -> Pair:
        """A sentence in English and in the invented language."""
        draw_clause = self._move if draw.chance(0.3) else self._action
        english, other = draw_clause(draw)
        if draw.chance(0.25):
            adverb = _frequent(draw, lexicon.ADVERBS)
            english = f"{adverb} {english}"
            other = f"{self._stems[adverb]} {other}"
        if draw.chance(0.2):
            more, also = draw.one((self._action, self._move))(draw)
            joint = draw.one(
                (("and", "ve"), ("but", "ama"), ("because", "çün"))
            )
            english = f"{english} {joint[0]} {more}"
            other = f"{other} {joint[1]} {also}"
        return english[0].upper() + english[1:] + ".", other + "."

    def _action(self, draw):
        """The old man didn't see my horses."""
        subject, third, ending = self._subject(draw)
        verb, past = _frequent(draw, lexicon.VERBS)
        key = f"{verb}+" if f"{verb}+" in self._stems else verb
        thing = self._phrase(draw, lexicon.NOUNS)
        english, word = self._verb(draw, (verb, past, key), third, ending)
        place, words = self._place(draw)
        return (
            f"{subject.english} {english} {thing.english}{place}",
            f"{subject.other} {words}{thing.case('(y)I')} {word}",
        )

    def _move(self, draw):
        """We will go from the house to the river."""
        subject, third, ending = self._subject(draw)
        verb, past = _frequent(draw, lexicon.MOVES)
        english, word = self._verb(draw, (verb, past, verb), third, ending)
        goal = self._phrase(draw, lexicon.PLACES)
        english = f"{subject.english} {english}"
        other = subject.other
        if draw.chance(0.5):
            start = self._phrase(draw, lexicon.PLACES)
            english = f"{english} from {start.english}"
            other = f"{other} {start.case('DAn')}"
        return (
            f"{english} to {goal.english}",
            f"{other} {goal.case('(y)A')} {word}",
        )

    def _subject(self, draw):
        """A phrase, whether it is he, she or it, and the verb's ending."""
        if draw.chance(0.4):
            english, _, _, ending = draw.one(_PERSONS)
            # The ending says who; the pronoun stands there all the same.
            other = {"I": "ben", "you": "sen", "we": "biz", "they": "onlar"}
            return Phrase(english, other[english], True), False, ending
        living = lexicon.PEOPLE if draw.chance(0.7) else lexicon.ANIMALS
        phrase = self._phrase(draw, living)
        return phrase, not phrase.plural, "lAr" if phrase.plural else ""

    def _phrase(self, draw, nouns):
        noun = _frequent(draw, nouns)
        plural = draw.chance(0.35)
        english = _plural(noun) if plural else noun
        other = inflect(self._stems[noun], "lAr" if plural else "")
        if draw.chance(0.35):
            adjective = _frequent(draw, lexicon.ADJECTIVES)
            english = f"{adjective} {english}"
            other = f"{self._stems[adjective]} {other}"
        if draw.chance(0.3):
            _, possessive, owned, _ = draw.one(_PERSONS)
            if plural and owned == "lArI":
                owned = "I"
            other = inflect(other, owned)
            theirs = possessive == "their"
            return Phrase(f"{possessive} {english}", other, plural, theirs)
        if plural or draw.chance(0.6):
            return Phrase(f"the {english}", other, plural)
        return Phrase(with_article(english), f"bir {other}", plural)

    def _place(self, draw):
        if draw.chance(0.6):
            return "", ""
        preposition, case = draw.one(_PLACED)
        place = self._phrase(draw, lexicon.PLACES)
        return f" {preposition} {place.english}", f"{place.case(case)} "

    def _verb(self, draw, verb, third, ending):
        """English verb phrase and the one word for it."""
        base, past, key = verb
        tense = draw.one(_TENSES)
        negated = draw.chance(0.25)
        word = inflect(
            self._stems[key], "mA" if negated else "", _MARKS[tense], ending
        )
        if tense == "future":
            return f"{'will not' if negated else 'will'} {base}", word
        if negated:
            helper = "did" if tense == "past" else "does" if third else "do"
            return f"{helper} not {base}", word
        if tense == "past":
            return past, word
        return (regular_third(base) if third else base), word


def _frequent(draw, words):
    """One of the words, those at the beginning more often."""
    return words[min(draw.below(len(words)), draw.below(len(words)))]


def _plural(noun):
    # The regular ending of a noun is spelt as that of a verb.
    return lexicon.PLURALS.get(noun, regular_third(noun))
