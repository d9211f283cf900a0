"""Adjectives: comparison in English, the form before a noun in Chinese."""

from scripts.demo_corpus import nouns
from scripts.demo_corpus.words import Adjective, Noun


def _adjectives(*rows: str) -> dict[str, Adjective]:
    """One a row: English, comparative, superlative, Chinese, before a noun."""
    made = (Adjective(*row.split(", ")) for row in rows)
    return {adjective.english: adjective for adjective in made}


OF_THINGS = _adjectives(
    "big, bigger, biggest, 大, 大",
    "small, smaller, smallest, 小, 小",
    "new, newer, newest, 新, 新",
    "old, older, oldest, 旧, 旧",
    "good, better, best, 好, 好",
    "cheap, cheaper, cheapest, 便宜, 便宜的",
    "expensive, more expensive, most expensive, 贵, 很贵的",
    "beautiful, more beautiful, most beautiful, 漂亮, 漂亮的",
    "interesting, more interesting, most interesting, 有意思, 有意思的",
    "boring, more boring, most boring, 无聊, 无聊的",
    "difficult, more difficult, most difficult, 难, 很难的",
    "thick, thicker, thickest, 厚, 很厚的",
    "heavy, heavier, heaviest, 重, 很重的",
    "long, longer, longest, 长, 长",
    "comfortable, more comfortable, most comfortable, 舒服, 舒服的",
    "clean, cleaner, cleanest, 干净, 干净的",
    "dirty, dirtier, dirtiest, 脏, 脏",
    "fast, faster, fastest, 快, 很快的",
    "fresh, fresher, freshest, 新鲜, 新鲜的",
    "sweet, sweeter, sweetest, 甜, 很甜的",
    "delicious, more delicious, most delicious, 好吃, 好吃的",
    "cute, cuter, cutest, 可爱, 可爱的",
    "quiet, quieter, quietest, 安静, 安静的",
    "famous, more famous, most famous, 出名, 出名的",
    "far, farther, farthest, 远, 很远的",
)
OF_PEOPLE = _adjectives(
    "tall, taller, tallest, 高, 高",
    "young, younger, youngest, 年轻, 年轻的",
    "smart, smarter, smartest, 聪明, 聪明的",
    "strong, stronger, strongest, 壮, 壮",
    "fat, fatter, fattest, 胖, 胖",
    "thin, thinner, thinnest, 瘦, 瘦",
    "rich, richer, richest, 有钱, 有钱的",
    "famous, more famous, most famous, 出名, 出名的",
    "kind, kinder, kindest, 善良, 善良的",
    "friendly, friendlier, friendliest, 友好, 友好的",
    "careful, more careful, most careful, 细心, 细心的",
    "patient, more patient, most patient, 有耐心, 有耐心的",
    "lazy, lazier, laziest, 懒, 懒",
    "busy, busier, busiest, 忙, 很忙的",
)
# States that pass; only said of people, not before a noun.
FEELINGS = _adjectives(
    "tired, , , 累, ",
    "busy, , , 忙, ",
    "happy, , , 高兴, ",
    "hungry, , , 饿, ",
    "thirsty, , , 渴, ",
    "angry, , , 生气, ",
    "sad, , , 难过, ",
    "worried, , , 担心, ",
    "nervous, , , 紧张, ",
    "excited, , , 兴奋, ",
)
COLOURS = _adjectives(
    "red, , , 红色, 红色的",
    "black, , , 黑色, 黑色的",
    "white, , , 白色, 白色的",
    "blue, , , 蓝色, 蓝色的",
    "green, , , 绿色, 绿色的",
    "yellow, , , 黄色, 黄色的",
)

# Which adjectives suit which things.
_CLOTHES = nouns.CLOTHES + nouns.SKIRT
_FITTING: tuple[tuple[tuple[Noun, ...], str], ...] = (
    (nouns.BOOKS, "interesting boring difficult thick new old good"),
    (nouns.MOVIES, "interesting boring long new old good"),
    (
        nouns.CLOTHES + nouns.SKIRT,
        "beautiful cheap expensive new old clean dirty",
    ),
    (nouns.PAIRS, "cheap expensive new old"),
    (nouns.VEHICLES, "cheap expensive new old fast beautiful"),
    (nouns.DEVICES, "cheap expensive new old good"),
    (nouns.FURNITURE, "cheap expensive new old beautiful heavy"),
    (nouns.FRUIT, "fresh sweet delicious cheap big small"),
    (nouns.ANIMALS, "cute big small"),
    (nouns.PLANTS, "beautiful big small"),
    (nouns.ROOMS, "clean beautiful big small quiet new old comfortable"),
)
COLOURED = (
    _CLOTHES + nouns.PAIRS[:3] + nouns.VEHICLES[:2] + nouns.BELONGINGS[1:4]
)
FITTING: dict[Noun, tuple[Adjective, ...]] = {
    noun: tuple(OF_THINGS[word] for word in words.split())
    for things, words in _FITTING
    for noun in things
}
DESCRIBED = tuple(FITTING)


def negated(adjective: Adjective) -> str:
    """不贵, but 没有意思: what is had (有) is negated with 没."""
    chinese = adjective.chinese
    return ("没" if chinese.startswith("有") else "不") + chinese


def graded(degree: str, adjective: Adjective) -> str:
    """The Chinese predicate for an English degree: "very ", "not ", ""."""
    if degree == "not ":
        return negated(adjective)
    if degree == "too ":
        return f"太{adjective.chinese}了"
    return _DEGREES[degree] + adjective.chinese


_DEGREES = {"": "很", "very ": "非常", "a little ": "有点儿"}
