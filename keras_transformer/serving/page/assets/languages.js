/** The languages of models and of texts, the latter for the `lang` attribute:
 * what reads a page aloud picks its voice by it, and a browser its Chinese or
 * Japanese glyphs. */

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
const PAIR = /^([a-z]{2})[-_]([a-z]{2})(?![a-z])/;

/**
 * @typedef {object} Languages
 * @property {string} source a BCP 47 tag.
 * @property {string} target likewise.
 */

/**
 * The languages that a model translates from and to.
 *
 * @param {string} model its name may tell: `en-zh`.
 * @param {Object<string, string[]>} stated pairs of tags by model, of those
 *   whose export says so.
 * @returns {?Languages} null: unknown.
 */
export function languagesOf(model, stated) {
  const pair = Object.hasOwn(stated, model)
    ? stated[model]
    : PAIR.exec(model.toLowerCase())?.slice(1);
  if (!pair) return null;
  // A tag may have been written `pt_BR`; only hyphens are HTML's.
  const [source, target] = pair.map((tag) => tag.replaceAll("_", "-"));
  return { source, target };
}

/**
 * A model for people to read.
 *
 * @param {string} model its name.
 * @param {?Languages} languages
 * @returns {string} `en → zh`, after a name that says something else.
 */
export function modelLabel(model, languages) {
  if (!languages) return model;
  const { source, target } = languages;
  const arrow = `${source} → ${target}`;
  return model === `${source}-${target}` ? arrow : `${model} (${arrow})`;
}

/**
 * The language of a text.
 *
 * @param {string} text
 * @param {?Languages} languages of the model.
 * @param {"source"|"target"} side of the translation.
 * @returns {string} a BCP 47 tag, or "", HTML's for an unknown language.
 */
export function textLanguage(text, languages, side) {
  if (languages) return languages[side];
  return SCRIPTS.find(([script]) => script.test(text))?.[1] ?? "";
}
