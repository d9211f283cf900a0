/** The alignment of two sides' tokens as a table whose cells have colours. */

import { element } from "./dom.js";
import { say } from "./interface_language.js";

// Of the colours in details.css, each for a tenth.
const LEVELS = 10;
// Characters of a token that are read upright in a narrow column.
const UPRIGHT = 3;

/**
 * Shows an alignment. Every cell also has its number, so the colour says
 * nothing that isn't there without it.
 *
 * @param {HTMLTableElement} table
 * @param {object} alignment as `align` gives it.
 * @param {{source: string, target: string}} languages of both sides' tokens.
 */
export function showHeatMap(table, alignment, languages) {
  const { sourceTokens, targetTokens, shares } = alignment;
  const columns = sourceTokens.map((token, index) =>
    header("col", token, index, languages.source),
  );
  const rows = targetTokens.map((token, index) =>
    element(
      "tr",
      {},
      header("row", token, index, languages.target),
      ...cells(shares[index]),
    ),
  );
  table.replaceChildren(
    element("thead", {}, element("tr", {}, corner(), ...columns)),
    element("tbody", {}, ...rows),
  );
}

function corner() {
  return element("td", {}, `${say("targetSide")} \\ ${say("sourceSide")}`);
}

function header(scope, token, index, lang) {
  if (token) {
    const shape = [...token].length > UPRIGHT ? "long" : "short";
    const text = element("span", { class: shape }, token);
    return element("th", { scope, lang }, text);
  }
  // An empty token in the middle is white space that the tokenizer keeps.
  const mark = token === null ? say("end") : index ? "␣" : say("start");
  const text = element("span", { class: "long" }, mark);
  return element("th", { scope, class: "mark" }, text);
}

function cells(shares) {
  const strongest = shares.indexOf(Math.max(...shares));
  return shares.map((share, column) => {
    const level = Math.min(LEVELS - 1, Math.round(share * LEVELS));
    const mark = column === strongest ? " strongest" : "";
    const percent = String(Math.round(share * 100));
    return element("td", { class: `level-${level}${mark}` }, percent);
  });
}
