import functools
import re

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.text.sentences import SentenceSplitter

# A text of each language, "|" where one sentence ends and the next begins.
CASES = {
    "en": [
        "I see a cat. |It sees me.",
        "Dr. Smith met Mrs. Jones. |They talked.",
        "It costs $3.50. |That is a lot!",
        "See Fig. 3 and No. 5. |No. |I don't want to.",
        "See Ch. V of vol. IX. |Pay min. £2, max. 3.",
        "I see Max. |He is in. |No. |I am. |No. |Vic is.",
        "J. R. R. Tolkien wrote it. |Read it.",
        "Use e.g. Python, i.e. a language. |It works.",
        "Open config.yaml at https://a.example/b.html?c=d. |Then save it.",
        "Version 2.0.1 is out. |Get it.",
        '"Come in." |She came in.',
        'He said, "Come in. Sit down." and left.',
        "(See below. It is long.) |Then go on.",
        "Well… |It depends. |Or… not.",
        "What?! |No way!! |Yes.",
        "Wait... |What?",
        "It was the U.S. Army. |It left.",
        "Is it really? she asked.",
        "Apples, pears, etc. are fruit.",
        "The Inc. is old.\n|The Ltd. is new.",
        "First line\n|second line\n|\n|third line",
        "It is there.[1] |The next one.[2, 3] |By Eq. (3) it holds.",
        "A <b>bold word.</b> |And another.",
        "You and I. |We two.",
        "Write to me@example.com. |I answer.",
        "It rained (10 mm). |It stopped.",
        "1. Open the file. |Close it.",
        "“Are you there?” |Nobody was.",
        "It is 5 p.m. now. |Go home.",
        "Ask ⟨t⟩No! Yes. Or⟨=⟩Nein! Ja? Oder⟨/t⟩. |Go.",
        "Press ⟨t⟩OK⟨=⟩Gut.⟨/t⟩. |⟨t⟩Go⟨=⟩Los⟨/t⟩ on.",
        "Hi.\u200b |Bye.\ufeff |Go.",
    ],
    "de": [
        "Am 3. Mai kam er. |Er blieb.",
        "Der 2. Weltkrieg endete 1945. |Danach war Frieden.",
        "Das geht z. B. Bernd an. |Er weiß es.",
        "Siehe Seite 12. |Wenn es fehlt, fragen Sie.",
        "Das sind ca. 3,5 Mio. Euro. |Viel Geld.",
        "Für max. 5 Leute laut Art. XII hier. |Gut.",
        "Nr. 5 lebt. |Dr. med. Meier auch.",
        "„Geh weg. Lauf.“ |Sie ging.",
        "Ludwig XIV. war König. |Er starb.",
        "Hallo! |Wie geht's? |Gut.",
        "Äpfel, Birnen usw. sind Obst. |Ja.",
        "Die Fa. Meier u. Söhne kam. |Gut.",
    ],
    "fr": [
        "M. Dupont est là. |Il attend.",
        "« Bonjour. » |Il part.",
        "Voir p. 12. |C'est là.",
        "Il a dit : « Viens. » et il est parti.",
        "Où est-il ? |Ici !",
    ],
    "es": [
        "¿Cómo estás? |¡Bien! |Gracias.",
        "El Sr. García y la Sra. López llegaron. |Se sentaron.",
        "Véase la pág. 5. |Es corta.",
        "Vive en EE. UU. desde 1990. |Los JJ. OO. de Madrid.",
        "Fue a EE.UU. ayer.",
    ],
    "it": ["Il Sig. Rossi è qui. |Aspetta.", "Ecco l'art. 3. |È breve."],
    "pt": ["O Sr. Silva chegou. |Sentou-se.", "Veja a pág. 3. |É curta."],
    "nl": ["Dhr. Jansen komt, o.a. vandaag. |Hij wacht.", "Ja! |Nee?"],
    "pl": ["Prof. Nowak mieszka na ul. Długiej. |Jest w domu."],
    "cs": ["Viz např. 5. května. |Pak ne."],
    "fi": ["Se on 3. luokka. |Hyvä."],
    "tr": ["Dr. Yılmaz geldi. |Oturdu."],
    "ru": [
        "А. С. Пушкин родился в Москве. |Он был поэтом.",
        "Это стоит 5 тыс. Рублей нет.",
        "Он сказал: «Иди. Беги.» |Я пошёл.",
        "Где ты? |Здесь!",
        "Это для системы X. |Она большая. |apt ставит пакеты.",
    ],
    "el": ["Πού είσαι; |Εδώ.", "Ο κ. Μητσοτάκης ήρθε. |Καλά."],
    "uk": ["Вул. Шевченка, буд. 5, Київ. |Так."],
    "he": ["שלום.\u200f |מה נשמע?\u200f |טוב."],
    "hy": ["Ես այստեղ եմ։ |Դու այնտեղ ես։"],
    "ka": ["ეს კატაა. |ის ძაღლია."],
    "zh": [
        "我喜欢茶。|你呢？|我也是！",
        "他说：“走吧。快走。”|然后走了。",
        "“走吧。”他说。",
        "他问“为什么？”。|我没说话。",
        "看《怎么办？》。|（对吗？）。",
        "价格是3.5元。|很贵。",
        "（见下文。很长。）|继续。",
        "真的？！|是的……好。",
        "打开「文件。txt」。|保存。",
        "第一行\n|第二行",
        "你好!|我很好.|谢谢。",
        "点击。|“更多”可用。",
        "打开(O)...|保存文件。",
    ],
    "zho_Hans": [
        "⟨1⟩保存文件。⟨/1⟩|然后关闭。",
        "保存文件。⟨1⟩[1]⟨/1⟩|⟨2⟩然后⟨/2⟩关闭。",
    ],
    "eng_Latn": [
        "⟨1⟩Save it.⟨/1⟩ |Then go to Mr. ⟨2⟩X⟨/2⟩.",
        "One.⟨1⟩[1]⟨/1⟩ |Two.⟨2/⟩ |Three.⟨3⟩⟨4⟩[2]⟨/4⟩⟨/3⟩ |Four.⟨5⟩ Five.",
    ],
    "deu_Latn": ["Ich sprach mit Prof.Dr. Müller. |Er ging."],
    "ja": [
        "私は猫が好きです。|あなたは？",
        "「行こう。」と言った。|雨だ。",
        "彼は「行こう！」。|雨だ。",
        "（注意。重要。）|次へ。",
    ],
    "ko": ["나는 고양이를 좋아합니다. |당신은요?"],
    "hi": [
        "यह एक घर है। |वह एक पेड़ है। |क्या?",
        "डॉ. शर्मा आए। |वे बैठे।",
        "ए. पी. जे. कलाम आए। |वे बैठे।",
        "यह उपलब्ध सूची है. |आप एक चुनें. |के. शर्मा आए.",
        'उसने कहा, "मैं आऊँगा।" और चला गया। |वह घर है।',
        'वह बोला: "चलो।" |यह घर है।',
    ],
    "bn": ["এটি একটি ঘর। |ওটি গাছ।"],
    "ar": [
        "أين أنت؟ |أنا هنا. |نعم!",
        '"أين أنت؟" سأل الرجل. |نعم.',
        'قال: "أنا هنا." ثم ذهب. |"نعم." |أنا هنا.',
    ],
    "fa": ["کجایی؟ |اینجا هستم."],
    "ur": ["یہ گھر ہے۔ |وہ درخت ہے۔"],
    "th": ["ฉันชอบชา พ.ศ. 2560 ฉันชอบกาแฟ", "บรรทัดแรก\n|บรรทัดที่สอง"],
    "am": [
        "ይህ ቤት ነው። |ያ ዛፍ ነው።",
        "ይህ ቤት ነው፡፡ |ያ ዛፍ ነው፡፡",
        "ይህ፡ ቤት ነው።",
    ],
    "my": ["ဒါကအိမ်ပါ။ |အဲဒါကသစ်ပင်ပါ။", "ရန်ကုန်၊ မန္တလေး၊ပဲခူး ရှိသည်။"],
    "km": ["នេះជាផ្ទះ។ |នោះជាដើមឈើ។", "ស្វាយ ចេក ។ល។ |គាត់ទៅ។ល។"],
    "xx": ["Foo bar. |Baz! |Qux?"],
}


# One for each language: its graph is traced once.
splitter_of = functools.cache(SentenceSplitter)


def split(texts, language, **options):
    """Lists of (gap, sentence) of each text."""
    splitter = splitter_of(language, **options)
    found = splitter.split(tf.constant([as_bytes(t) for t in texts]))
    parts = [[] for _ in texts]
    for row, gap, text in zip(
        found.rows.numpy(), found.gaps.numpy(), found.texts.numpy(), strict=True
    ):
        parts[row].append((gap, text))
    return parts


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode()


def back(parts):
    return b"".join(gap + text for gap, text in parts)


@pytest.mark.parametrize("language", CASES)
def test_sentences_end_where_a_reader_says(language):
    texts = [case.replace("|", "") for case in CASES[language]]
    for case, parts in zip(
        CASES[language], split(texts, language), strict=True
    ):
        wanted = [part.strip() for part in case.split("|") if part.strip()]
        wanted = [re.sub(r"^1\. ", "", part) for part in wanted]
        assert [t.decode() for _, t in parts if t] == wanted


def test_bullets_numbers_and_white_space_belong_to_no_sentence():
    text = "  - One. Two.\r\n\r\n\t• Three\n12) Four\u3000\n3. Five  \n"
    assert [(g.decode(), t.decode()) for g, t in split([text], "en")[0]] == [
        ("  - ", "One."),
        (" ", "Two."),
        ("\r\n\r\n\t• ", "Three"),
        ("\n12) ", "Four"),
        ("\u3000\n3. ", "Five"),
        ("  \n", ""),
    ]
    # Where "3. Mai" is a date, such a number stays.
    assert split(["3. Mai"], "de")[0] == [(b"", b"3. Mai")]


def encoded(text):
    return text.encode("utf-8", "replace")


ENDS = st.sampled_from(
    [". ", "。", "!", "? ", "\n", "\r\n", "…", "\ufdd0", '"']
)
TEXTS = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=60).map(encoded),
    st.lists(
        st.one_of(ENDS, st.text(max_size=8), st.just("(Ab. "), st.just("Dr. "))
    )
    .map("".join)
    .map(encoded),
)


OTHER = "\ufffd".encode()
GROUPS = ["en", "de", "zh", "ja", "hi", "ar", "th", "xx"]


@pytest.mark.medium
@settings(max_examples=60, deadline=None)
@given(
    st.lists(TEXTS, min_size=1, max_size=40),
    st.sampled_from(GROUPS),
    st.booleans(),
)
def test_sentences_and_gaps_are_the_text_byte_by_byte(texts, language, short):
    options = (
        {"count_tokens": tf.strings.length, "max_tokens": 5} if short else {}
    )
    kept = [re.sub(b"\xef\xb7[\x90\x91]", OTHER, text) for text in texts]
    assert list(map(back, split(texts, language, **options))) == kept


def test_a_long_text_is_copied_once():
    # By each of its sentences, it would be 10 GB.
    assert len(split(["a\n" * 70_000], "en")[0]) == 70_001


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=40), st.sampled_from(GROUPS))
def test_what_looks_like_a_sentence_is_one(texts, language):
    options = {"count_tokens": tf.strings.length, "max_tokens": 30}
    splitter = splitter_of(language, **options)
    found = split(texts, language, **options)
    for text, parts in zip(texts, found, strict=True):
        if splitter.are_sentences(tf.constant([text])):
            assert parts == [(b"", text)]


@pytest.mark.parametrize("language", CASES)
def test_a_sentence_is_seen_to_be_one(language):
    splitter = SentenceSplitter(language)
    plain = {"zh": "我喜欢茶。", "th": "ฉันชอบชา", "hi": "यह एक घर है।"}
    text = tf.constant([plain.get(language, "I like tea, (and cats).")])
    assert splitter.are_sentences(text)
    several = [c.replace("|", "") for c in CASES[language] if "|" in c]
    for case in several:
        assert not splitter.are_sentences(tf.constant([case]))


def words(texts):
    """A count of tokens: of words, and of Chinese characters."""
    texts = tf.strings.regex_replace(texts, r"\p{Han}", " x ")
    return tf.cast(tf.strings.split(texts).row_lengths(), tf.int32)


def short(text, language, most=6):
    parts = split([text], language, count_tokens=words, max_tokens=most)[0]
    assert back(parts).decode() == text
    return [t.decode() for _, t in parts]


def test_a_sentence_too_long_is_split_at_the_best_place():
    assert short("a b c d; e f g, h i j", "en") == ["a b c d;", "e f g, h i j"]
    assert short("a b c, d e and f g h", "en") == ["a b c,", "d e and f g h"]
    assert short("a b c d and e f g", "en") == ["a b c d", "and e f g"]
    assert short("a b c d und e f g", "de") == ["a b c d", "und e f g"]
    assert short("a b c d e f g h", "en") == ["a b c d", "e f g h"]
    assert short("一二三四，五六七八", "zh") == ["一二三四，", "五六七八"]
    assert short("က ခ ဂ၊ ဃ; င စ ဆ", "my") == ["က ခ ဂ၊ ဃ;", "င စ ဆ"]
    assert short("က ခ ဂ၊ ဃ င စ ဆ", "my") == ["က ခ ဂ၊", "ဃ င စ ဆ"]
    assert short("(A b c d. E f g h.)", "en") == ["(A b c d.", "E f g h.)"]


def test_a_sentence_that_fits_is_left_alone():
    assert short("a, b; c: d and e f", "en", 7) == ["a, b; c: d and e f"]
    long = "supercalifragilisticexpialidocious " * 6
    assert short(long.strip(), "en") == [long.strip()]


@pytest.mark.medium
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_part_is_too_long_whatever_the_text(language):
    for text in (
        "我" * 100,
        "a b " * 100,
        "x, " * 99,
        "我们，" * 50,
        "a " + "我" * 50,
    ):
        parts = split(
            [text, "b"],
            language,
            count_tokens=lambda texts: tf.strings.length(texts, "UTF8_CHAR"),
            max_tokens=20,
        )
        assert back(parts[0]).decode() == text
        assert parts[1] == [(b"", b"b")]
        assert all(len(t.decode()) <= 20 for _, t in parts[0])
        assert len(parts[0]) < 3 * len(text) / 20 + 2


def test_no_huge_text_is_counted_as_a_whole():
    def count(texts):
        length = tf.reduce_max(tf.strings.length(texts))
        with tf.control_dependencies([tf.debugging.assert_less(length, 1300)]):
            return words(texts)

    text = f"{'中' * 5000} {'a' * 2000}"
    parts = split([text], "zh", count_tokens=count, max_tokens=20)[0]
    assert back(parts).decode() == text
    assert all(words(tf.constant([t]))[0] <= 20 for _, t in parts)


def joined(text, source, target, say=bytes.upper):
    splitter = SentenceSplitter(source, target)
    found = splitter.split(tf.constant([as_bytes(text)]))
    said = tf.constant([[say(t)] for t in found.texts.numpy()])
    return splitter.join(found, said).numpy()[0, 0].decode()


def test_between_sentences_is_what_the_target_language_has():
    assert joined("A b. C d.\n\n- E f. ", "en", "zh") == "A B.C D.\n\n- E F. "
    assert joined("A b.  C d.\r\nE", "en", "de") == "A B.  C D.\r\nE"
    assert joined("a。b。\n c。", "zh", "en") == "A。 B。\n C。"
    assert joined("a。b。", "zh", "ja") == "A。B。"
    assert joined("Ab. Cd. ", "en", "") == "AB. CD. "


@pytest.mark.parametrize(
    ("language", "text", "first"),
    [
        ("hi", "वह गया।मैं आया।", "वह गया।"),
        ("bn", "সে গেল।আমি এলাম।", "সে গেল।"),
        ("ur", "“وہ گیا۔”میں آیا۔", "“وہ گیا۔”"),
        ("ar", "هل ذهب؟⟨1/⟩نعم", "هل ذهب؟⟨1/⟩"),
        ("am", "እሱ ሄደ።እኔ መጣሁ።", "እሱ ሄደ።"),
        ("hy", "Նա գնաց։Ես եկա։", "Նա գնաց։"),
        ("my", "သူသွားသည်။ငါလာသည်။", "သူသွားသည်။"),
        ("km", "គាត់ទៅ។ខ្ញុំមក។", "គាត់ទៅ។"),
        ("ko", "갔다。왔다。", "갔다。"),
    ],
)
def test_sentences_without_space_between_get_one(language, text, first):
    spaced = text.replace(first, first + " ")
    assert joined(text, language, "en", bytes) == spaced
    assert joined(text, language, "th", bytes) == spaced
    assert joined(text, language, "zh", bytes) == text


@pytest.mark.parametrize(
    ("text", "source", "target", "between"),
    [
        ("ฉันไปเดินเล่นกับเพื่อนและซื้อไอศกรีม", "th", "en", " "),
        ("ຂ້ອຍໄປຍ່າງຫຼິ້ນກັບໝູ່ແລະຊື້ກະແລັມ", "lo", "en", " "),
        ("ខ្ញុំដើរលេងជាមួយមិត្តភក្តិនិងទិញការ៉េម", "km", "en", " "),
        ("မြန်မာနိုင်ငံသည်အရှေ့တောင်အာရှတွင်ရှိ", "my", "en", " "),
        ("我和朋友一起去公园散步然后我们买了三个冰淇淋", "zh", "en", " "),
        ("ฉันไปเดินเล่นกับเพื่อนและซื้อไอศกรีม", "th", "zh", ""),
        ("كلمة،كلمة،كلمة،كلمة،كلمة،كلمة", "ar", "en", " "),
        # A word of a language that has spaces between words stays whole.
        ("https://a.example/of-some/long/path", "en", "de", ""),
        ("https://a.example/of-some/long/path", "hi", "en", ""),
        ("рентгеноэлектрокардиографического", "ru", "en", ""),
    ],
)
def test_a_space_is_where_a_phrase_was_cut(text, source, target, between):
    def count(texts):
        return tf.strings.length(texts, "UTF8_CHAR")

    splitter = SentenceSplitter(source, target, count, 20)
    found = splitter.split(tf.constant([text]))
    pieces = [piece.decode() for piece in found.texts.numpy()]
    assert len(pieces) > 1
    said = splitter.join(found, found.texts[:, tf.newaxis]).numpy()[0, 0]
    assert said.decode() == between.join(pieces)


def test_ranks_of_translations_are_joined_each_by_itself():
    splitter = SentenceSplitter("en", "de")
    found = splitter.split(tf.constant(["Ab. Cd.", "", " \n", "Ef."]))
    said = [[t + b"1", t + b"2"] for t in found.texts.numpy()]
    result = splitter.join(found, tf.constant(said)).numpy().tolist()
    assert result == [
        [b"Ab.1 Cd.1", b"Ab.2 Cd.2"],
        [b"", b""],
        [b"", b""],
        [b"Ef.1", b"Ef.2"],
    ]
    assert splitter.counts(found).numpy().tolist() == [2, 0, 0, 1]


def test_tags_before_a_text_are_its_head():
    splitter = SentenceSplitter("en", tags=r">>\S+<<|<BT>")
    found = splitter.split(tf.constant([">>de<< <BT> Ab. Cd.", "A >>de<< b."]))
    assert found.heads.numpy().tolist() == [b">>de<< <BT> ", b""]
    assert found.texts.numpy().tolist() == [b"Ab.", b"Cd.", b"A >>de<< b."]


def test_no_texts_have_no_sentences():
    splitter = SentenceSplitter("en", "zh", tf.strings.length, 5)
    none = splitter.split(tf.zeros([0], tf.string))
    assert none.texts.shape == (0,)
    assert splitter.join(none, tf.zeros([0, 3], tf.string)).shape == (0, 3)
