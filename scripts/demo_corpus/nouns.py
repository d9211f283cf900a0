"""Things: English singular and plural, Chinese, measure word; by class."""

from scripts.demo_corpus.words import Noun


def _nouns(*rows: str) -> tuple[Noun, ...]:
    """One noun a row: singular, plural, Chinese, measure word."""
    return tuple(Noun(*row.split(", ")) for row in rows)


BOOKS = _nouns(
    "book, books, 书, 本",
    "novel, novels, 小说, 本",
    "dictionary, dictionaries, 词典, 本",
    "magazine, magazines, 杂志, 本",
)
READING = BOOKS[:2] + _nouns(
    "magazine, magazines, 杂志, 本",
    "newspaper, newspapers, 报纸, 份",
    "letter, letters, 信, 封",
)
WRITING = _nouns(
    "letter, letters, 信, 封",
    "novel, novels, 小说, 本",
    "song, songs, 歌, 首",
    "story, stories, 故事, 个",
)
CLOTHES = _nouns(
    "shirt, shirts, 衬衫, 件",
    "coat, coats, 大衣, 件",
    "sweater, sweaters, 毛衣, 件",
    "hat, hats, 帽子, 顶",
)
SKIRT = _nouns("skirt, skirts, 裙子, 条")
PAIRS = _nouns(
    "pair of shoes, pairs of shoes, 鞋, 双",
    "pair of socks, pairs of socks, 袜子, 双",
    "pair of pants, pairs of pants, 裤子, 条",
    "pair of glasses, pairs of glasses, 眼镜, 副",
)
VEHICLES = _nouns(
    "car, cars, 车, 辆",
    "bicycle, bicycles, 自行车, 辆",
    "boat, boats, 船, 条",
)
DEVICES = _nouns(
    "computer, computers, 电脑, 台",
    "camera, cameras, 照相机, 台",
    "phone, phones, 手机, 部",
)
FURNITURE = _nouns(
    "chair, chairs, 椅子, 把",
    "table, tables, 桌子, 张",
    "bed, beds, 床, 张",
    "lamp, lamps, 灯, 盏",
    "sofa, sofas, 沙发, 张",
)
# Small things that people carry, put down, lose and lend.
BELONGINGS = _nouns(
    "key, keys, 钥匙, 把",
    "umbrella, umbrellas, 雨伞, 把",
    "pen, pens, 笔, 支",
    "pencil, pencils, 铅笔, 支",
    "map, maps, 地图, 张",
    "ticket, tickets, 票, 张",
    "photo, photos, 照片, 张",
    "bag, bags, 包, 个",
    "wallet, wallets, 钱包, 个",
    "cup, cups, 杯子, 个",
    "watch, watches, 手表, 块",
)
FOODS = _nouns(
    "apple, apples, 苹果, 个",
    "orange, oranges, 橘子, 个",
    "banana, bananas, 香蕉, 根",
    "pear, pears, 梨, 个",
    "egg, eggs, 鸡蛋, 个",
    "cake, cakes, 蛋糕, 个",
    "sandwich, sandwiches, 三明治, 个",
    "bowl of rice, bowls of rice, 米饭, 碗",
    "bowl of noodles, bowls of noodles, 面条, 碗",
)
FRUIT = FOODS[:4]
DRINKS = _nouns(
    "cup of tea, cups of tea, 茶, 杯",
    "cup of coffee, cups of coffee, 咖啡, 杯",
    "glass of milk, glasses of milk, 牛奶, 杯",
    "glass of juice, glasses of juice, 果汁, 杯",
    "bottle of water, bottles of water, 水, 瓶",
    "bottle of beer, bottles of beer, 啤酒, 瓶",
)
PETS = _nouns(
    "cat, cats, 猫, 只",
    "dog, dogs, 狗, 只",
    "bird, birds, 鸟, 只",
    "rabbit, rabbits, 兔子, 只",
)
FARM_ANIMALS = _nouns(
    "horse, horses, 马, 匹",
    "cow, cows, 牛, 头",
    "pig, pigs, 猪, 头",
    "sheep, sheep, 羊, 只",
    "chicken, chickens, 鸡, 只",
)
ANIMALS = PETS + FARM_ANIMALS
PLANTS = _nouns("tree, trees, 树, 棵", "flower, flowers, 花, 朵")
MOVIES = _nouns("movie, movies, 电影, 部")
SONGS = _nouns("song, songs, 歌, 首")
GIFTS = _nouns(
    "gift, gifts, 礼物, 份",
    "flower, flowers, 花, 朵",
    "cake, cakes, 蛋糕, 个",
)
PEOPLE = _nouns(
    "student, students, 学生, 个",
    "child, children, 孩子, 个",
    "man, men, 男人, 个",
    "woman, women, 女人, 个",
    "boy, boys, 男孩, 个",
    "girl, girls, 女孩, 个",
    "teacher, teachers, 老师, 位",
    "doctor, doctors, 医生, 位",
)
FAMILY = _nouns(
    "son, sons, 儿子, 个",
    "daughter, daughters, 女儿, 个",
    "child, children, 孩子, 个",
    "older brother, older brothers, 哥哥, 个",
    "older sister, older sisters, 姐姐, 个",
    "younger brother, younger brothers, 弟弟, 个",
    "younger sister, younger sisters, 妹妹, 个",
    "friend, friends, 朋友, 个",
)
ROOMS = _nouns("room, rooms, 房间, 个", "house, houses, 房子, 栋")

# What is bought and sold, and what is had, needed and wanted.
GOODS = (
    BOOKS
    + CLOTHES
    + SKIRT
    + PAIRS
    + VEHICLES
    + DEVICES
    + FURNITURE
    + BELONGINGS[:7]
)
OWNED = GOODS + PETS + BELONGINGS[7:]
