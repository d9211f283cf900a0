/** The language that the page speaks. */

import { MESSAGES } from "./messages.js";
import { recall, remember } from "./storage.js";

const KEY = "language";
// What `lang` has to say: these are simplified characters.
const TAGS = { en: "en", zh: "zh-Hans" };

let current = "en";

/** @returns {string} "en" or "zh": remembered, or else the browser's. */
export function preferredLanguage() {
  const remembered = recall(KEY);
  if (remembered in MESSAGES) return remembered;
  const wanted = navigator.languages.map((tag) => tag.slice(0, 2));
  return wanted.find((language) => language in MESSAGES) ?? "en";
}

/** @param {string} language the user's choice, which is remembered. */
export function chooseLanguage(language) {
  remember(KEY, language);
  setLanguage(language);
}

/** @param {string} language in which everything fixed is said. */
export function setLanguage(language) {
  current = language;
  document.documentElement.lang = TAGS[language];
  for (const place of document.querySelectorAll("[data-message]")) {
    place.textContent = say(place.dataset.message);
  }
}

/**
 * A message in the page's language.
 *
 * @param {string} key of the message.
 * @param {object} values for what is in braces.
 */
export function say(key, values = {}) {
  return MESSAGES[current][key].replaceAll(
    /\{(\w+)\}/g,
    (_, name) => values[name],
  );
}

/** A number as the page's language writes it. */
export function sayNumber(value, options) {
  return new Intl.NumberFormat(TAGS[current], options).format(value);
}

/** A fraction of 1 as whole percent. */
export function sayPercent(value) {
  return sayNumber(value, { style: "percent" });
}
