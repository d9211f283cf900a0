/** The languages of texts, for the `lang` attribute: what reads a page aloud
 * picks its voice by it, and a browser its Chinese or Japanese glyphs. */

// Of these scripts one language is by far the likeliest.
const SCRIPTS = [
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, "ja"],
  [/\p{Script=Hangul}/u, "ko"],
  [/\p{Script=Han}/u, "zh"],
  [/\p{Script=Thai}/u, "th"],
  [/\p{Script=Greek}/u, "el"],
  [/\p{Script=Hebrew}/u, "he"],
];
// As in en-zh, de_en-large.
const PAIR = /^([a-z]{2})[-_]([a-z]{2})(?![a-z])/i;

/**
 * The language of a text.
 *
 * @param {string} text
 * @param {string} model its name may tell: `en-zh`.
 * @param {"source"|"target"} side of the translation.
 * @returns {string} a BCP 47 tag, or "", HTML's for an unknown language.
 */
export function languageOf(text, model, side) {
  const pair = PAIR.exec(model);
  if (pair) return pair[side === "source" ? 1 : 2].toLowerCase();
  return SCRIPTS.find(([script]) => script.test(text))?.[1] ?? "";
}
