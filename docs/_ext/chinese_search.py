"""Search in Chinese pages without a dictionary of words.

Sphinx's own Chinese search cuts text into words with a dictionary, and looks
a query up as it stands: one that isn't cut in the same way finds nothing.
Here text and query are both cut into single characters and into pairs of
neighbours, so that any query of the text is found. Latin words are stemmed
as in English.
"""

import re

from sphinx.search.en import SearchEnglish

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_RUNS = re.compile(rf"[{_HAN}]+|[^\W{_HAN}]+")

_SPLIT_QUERY = r"""
var splitQuery = (query) =>
  (query.match(/[HAN]+|(?:(?![HAN])[\p{L}\p{N}_])+/gu) || []).flatMap((run) =>
    /[HAN]{2}/.test(run)
      ? Array.from({ length: run.length - 1 }, (_, i) => run.slice(i, i + 2))
      : [run]
  );
"""


class ChineseSearch(SearchEnglish):
    """English stems, and Chinese characters alone and in pairs."""

    lang = "zh"
    # What the script calls the stemmer: `EnglishStemmer`.
    language_name = "English"
    js_splitter_code = _SPLIT_QUERY.replace(
        "HAN", r"\u3400-\u4dbf\u4e00-\u9fff"
    )

    def split(self, input):
        terms = []
        for run in _RUNS.findall(input):
            terms.append(run)
            if re.match(f"[{_HAN}]", run):
                terms[-1:] = [
                    *run,
                    *map("".join, zip(run, run[1:], strict=False)),
                ]
        return terms

    def word_filter(self, word):
        return bool(re.match(f"[{_HAN}]", word)) or super().word_filter(word)


def setup(app):
    app.add_search_language(ChineseSearch)
    return {"parallel_read_safe": True}
