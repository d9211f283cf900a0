/** A table of several translations of a sentence, with their scores. */

import { element } from "./dom.js";
import { say, sayNumber, sayPercent } from "./interface_language.js";

/**
 * Shows translations, best first.
 *
 * @param {HTMLTableElement} table
 * @param {object[]} hypotheses as `translate` gives them.
 * @param {boolean} withProbability whether theirs are or will be known.
 * @param {string} lang of the translations.
 */
export function showHypotheses(table, hypotheses, withProbability, lang) {
  const titles = ["rank", "translation", "score"];
  if (withProbability) titles.push("probability");
  table.replaceChildren(
    element("thead", {}, element("tr", {}, ...titles.map(columnHeader))),
    element(
      "tbody",
      {},
      ...hypotheses.map((hypothesis, index) => {
        const cells = row(index + 1, hypothesis, lang);
        if (withProbability) cells.append(percentCell(hypothesis));
        return cells;
      }),
    ),
  );
}

function columnHeader(key) {
  return element("th", { scope: "col" }, say(key));
}

function row(rank, { text, score }, lang) {
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, sayNumber(rank)),
    element("td", { class: "text", lang, dir: "auto" }, text || say("noText")),
    element("td", { class: "number" }, threeDigits(score)),
  );
}

function percentCell({ probability }) {
  const known = probability !== undefined;
  const text = known ? sayPercent(probability) : "…";
  return element("td", { class: "number" }, text);
}

function threeDigits(score) {
  if (score === null) return "";
  return sayNumber(score, {
    minimumFractionDigits: 3,
    maximumFractionDigits: 3,
  });
}
