/** An excerpt below each page that the search finds, from SEARCH_TEXTS. */

const LENGTH = 240;
// Characters before the first word that was searched for.
const BEFORE = 60;

/** Where in a text the query begins, or the first of its words; or -1. */
function positionOf(text, query, from) {
  const lower = text.toLowerCase();
  const words = splitQuery(query.toLowerCase());
  const positions = words
    .map((word) => lower.indexOf(word, from))
    .filter((position) => position >= 0);
  const whole = lower.indexOf(query.toLowerCase().trim(), from);
  if (whole >= 0) return whole;
  return positions.length ? Math.min(...positions) : -1;
}

/**
 * What a page says around a query.
 *
 * @param {string} page its name, without an ending.
 * @param {string} anchor in it, or "".
 * @param {string} query
 * @returns {string} "" where the page isn't known.
 */
function excerpt(page, anchor, query) {
  if (!Object.hasOwn(SEARCH_TEXTS, page)) return "";
  const [text, anchors] = SEARCH_TEXTS[page];
  const begin = anchors[anchor] ?? 0;
  const position = positionOf(text, query, begin);
  let start = Math.max(begin, position - BEFORE);
  const space = text.indexOf(" ", start);
  // With a whole word, where words have spaces between them.
  if (start > begin && space >= 0 && space < position) start = space + 1;
  const cut = text.slice(start, start + LENGTH).trim();
  const more = start + LENGTH < text.length;
  const shown = more ? `${cut.replace(/ \w*$/, "")} …` : cut;
  return start > begin ? `… ${shown}` : shown;
}

function addExcerpt(item) {
  const link = item.querySelector("a");
  const { content_root: here } = document.documentElement.dataset;
  const root = new URL(here, document.baseURI);
  const found = new URL(link.href);
  const page = decodeURI(found.pathname)
    .slice(decodeURI(root.pathname).length)
    .replace(/\.html$/, "");
  const query = new URLSearchParams(location.search).get("q");
  const text = excerpt(page, decodeURIComponent(found.hash.slice(1)), query);
  if (!text) return;
  const paragraph = document.createElement("p");
  paragraph.className = "context";
  paragraph.textContent = text;
  item.append(paragraph);
}

// Sphinx adds its results one by one.
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) {
    for (const node of addedNodes) {
      if (node.nodeName === "LI") addExcerpt(node);
    }
  }
}).observe(document.getElementById("search-results"), {
  childList: true,
  subtree: true,
});
