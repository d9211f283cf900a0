"""Places: "at the library" 在图书馆, "to Beijing" 去北京."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A place with its English preposition for being there."""

    english: str
    chinese: str
    preposition: str

    @property
    def located(self) -> str:
        """at the library, in Beijing."""
        return f"{self.preposition} {self.english}"

    @property
    def destination(self) -> str:
        """to the library."""
        return f"to {self.english}"

    @property
    def origin(self) -> str:
        """from the library."""
        return f"from {self.english}"


def _places(preposition: str, *rows: str) -> dict[str, Place]:
    """One a row: English, Chinese."""
    split = (row.split(", ") for row in rows)
    return {
        english.removeprefix("the "): Place(english, chinese, preposition)
        for english, chinese in split
    }


BUILDINGS = _places(
    "at",
    "the library, 图书馆",
    "school, 学校",
    "the hospital, 医院",
    "the bank, 银行",
    "the restaurant, 饭馆",
    "the hotel, 酒店",
    "the supermarket, 超市",
    "the station, 车站",
    "the airport, 机场",
    "the museum, 博物馆",
    "the zoo, 动物园",
    "the cinema, 电影院",
    "the university, 大学",
    "the market, 市场",
    "the bookstore, 书店",
    "the post office, 邮局",
    "the office, 办公室",
    "the factory, 工厂",
)
INSIDE = _places(
    "in",
    "the park, 公园",
    "the kitchen, 厨房",
    "the garden, 花园",
    "the classroom, 教室",
    "the living room, 客厅",
)
CITIES = _places(
    "in",
    "Beijing, 北京",
    "Shanghai, 上海",
    "London, 伦敦",
    "Paris, 巴黎",
    "New York, 纽约",
    "Tokyo, 东京",
)
COUNTRIES = _places(
    "in",
    "China, 中国",
    "France, 法国",
    "England, 英国",
    "Japan, 日本",
    "Germany, 德国",
    "Canada, 加拿大",
)
HOME = Place("home", "家", "at")

PLACES = BUILDINGS | INSIDE | {"home": HOME}
GOALS = tuple(BUILDINGS.values()) + (INSIDE["park"],)
FAR_GOALS = tuple(CITIES.values()) + tuple(COUNTRIES.values())
# Where professions work, for questions and relative clauses.
WORKPLACES = tuple(
    BUILDINGS[name]
    for name in (
        "library",
        "school",
        "hospital",
        "bank",
        "restaurant",
        "hotel",
        "supermarket",
        "museum",
        "university",
        "bookstore",
        "post office",
        "factory",
    )
)
# Things with a top, an inside or a side: "on the table" 桌子上.
SPOTS = (
    ("on the table", "桌子上"),
    ("under the table", "桌子下面"),
    ("on the desk", "书桌上"),
    ("on the chair", "椅子上"),
    ("under the chair", "椅子下面"),
    ("on the bed", "床上"),
    ("under the bed", "床下面"),
    ("on the sofa", "沙发上"),
    ("in the bag", "包里"),
    ("in the box", "箱子里"),
)
SIDES = (
    ("next to", "旁边"),
    ("in front of", "前面"),
    ("behind", "后面"),
    ("near", "附近"),
    ("across from", "对面"),
)
