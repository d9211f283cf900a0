/** The translations, and what is said about them. */

import { byId, element, showText } from "./dom.js";
import { inWords } from "./errors.js";
import { withMarkup } from "./inline_markup.js";
import { say, sayNumber, sayPercent } from "./interface_language.js";
import { textLanguage } from "./languages.js";

// Percent. Of 1,077 dev sentences of a `tatoeba` run, by `translate` and
// `score`, 4 % are below; their mean chrF against the reference is 10, that of
// the others 35.
const UNSURE_BELOW = 50;

/**
 * @typedef {object} Answer
 * @property {object} target model, version and their abilities.
 * @property {object[]} sentences as `translate` gives them.
 * @property {number} milliseconds from the request to the answer.
 */

/** Shows that something is on its way; what was there stays. */
export function showWorking() {
  byId("answer").setAttribute("aria-busy", "true");
  byId("problem").textContent = "";
  byId("about").textContent = say("working");
}

/** @param {?Answer} answer null: there is nothing to translate. */
export function showAnswer(answer) {
  byId("answer").removeAttribute("aria-busy");
  byId("problem").textContent = "";
  byId("retry").hidden = true;
  byId("copied").textContent = "";
  byId("copy").hidden = !answer || !navigator.clipboard;
  byId("translation").replaceChildren(...translations(answer));
  sayAbout(answer);
}

/** Says again what depends on the page's language. */
export function sayAbout(answer) {
  showText(byId("truncated"), answer ? sayTruncated(answer) : "");
  byId("about").textContent = answer ? about(answer) : "";
  showUnsure(answer);
}

/**
 * Marks translations of a low probability, once the model has said it.
 *
 * @param {?Answer} answer
 */
export function showUnsure(answer) {
  const unsure = answer ? answer.sentences.map(isUnsure) : [];
  byId("translation")
    .querySelectorAll("p, li")
    .forEach((text, i) => text.classList.toggle("unsure", unsure[i]));
  showText(byId("unsure"), unsure.includes(true) ? sayUnsure(answer) : "");
}

/** @param {Error} error why there is no answer. */
export function showProblem(error) {
  showAnswer(null);
  byId("problem").textContent = inWords(error);
  byId("retry").hidden = false;
}

/** @returns {string} the translations, a line each. */
export function plainText(answer) {
  return answer.sentences.map(best).join("\n");
}

function translations(answer) {
  if (!answer) return [];
  const { sentences, target } = answer;
  const name = sentences.length > 1 ? "li" : "p";
  const texts = sentences.map((sentence) => {
    const text = best(sentence);
    const lang = textLanguage(text, target.languages, "target");
    const shown = text ? withMarkup(text) : [say("noText")];
    return element(name, { lang, dir: "auto" }, ...shown);
  });
  return sentences.length > 1 ? [element("ol", {}, ...texts)] : texts;
}

function best({ hypotheses }) {
  return hypotheses[0]?.text ?? "";
}

function about({ target, sentences, milliseconds }) {
  const found = sentences.reduce((sum, { count }) => sum + count, 0);
  const key = found > 1 ? "aboutSeveral" : "about";
  return say(key, {
    version: target.version,
    model: target.label,
    count: sayNumber(found),
    milliseconds: sayNumber(Math.round(milliseconds)),
  });
}

function sayTruncated({ sentences }) {
  const numbers = sentences.flatMap(({ truncated }, i) =>
    truncated ? [numbered(i)] : [],
  );
  if (!numbers.length) return "";
  if (sentences.length === 1) return say("truncated");
  return say("truncatedSome", { numbers: numbers.join(say("listComma")) });
}

function isUnsure({ hypotheses }) {
  // As it is shown.
  return Math.round(100 * hypotheses[0]?.probability) < UNSURE_BELOW;
}

function sayUnsure({ sentences }) {
  const percent = ({ hypotheses }) => sayPercent(hypotheses[0].probability);
  if (sentences.length === 1) {
    return say("unsure", { percent: percent(sentences[0]) });
  }
  const numbers = sentences.flatMap((sentence, i) =>
    isUnsure(sentence) ? [`${numbered(i)} (${percent(sentence)})`] : [],
  );
  return say("unsureSome", { numbers: numbers.join(say("listComma")) });
}

function numbered(index) {
  return say("numberedSentence", { number: index + 1 });
}
