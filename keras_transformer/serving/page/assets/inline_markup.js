/** Inline markup of HTML in a translation, shown as what it means. */

import { element } from "./dom.js";

// Elements by tag. None takes an attribute, so no text can name an address or
// a script; a link is only underlined.
const SHOWN = {
  a: "u",
  ...Object.fromEntries(
    "b code em i kbd mark s small strong sub sup u"
      .split(" ")
      .map((name) => [name, name]),
  ),
};
const TAG = /<(\/?)([a-z]+)(?:\s[^<>]*)?>/gi;

/**
 * A text as nodes, with elements in place of its inline tags.
 *
 * @param {string} text
 * @returns {(Node|string)[]} the text itself where tags aren't well nested;
 *   other tags stay as they are written.
 */
export function withMarkup(text) {
  const open = [{ name: "", children: [] }];
  let end = 0;
  for (const match of text.matchAll(TAG)) {
    const name = match[2].toLowerCase();
    if (!Object.hasOwn(SHOWN, name)) continue;
    open.at(-1).children.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    if (!match[1]) {
      open.push({ name, children: [] });
      continue;
    }
    const closed = open.pop();
    if (closed.name !== name) return [text];
    open.at(-1).children.push(element(SHOWN[name], {}, ...closed.children));
  }
  if (open.length > 1) return [text];
  return [...open[0].children, text.slice(end)];
}
