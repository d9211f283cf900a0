/** Elements, made without any markup in strings. */

/**
 * Makes an element.
 *
 * @param {string} name of the tag.
 * @param {object} attributes by name.
 * @param {...(Node|string)} children strings become text, never markup.
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** The element with an id. */
export function byId(id) {
  return document.getElementById(id);
}

/**
 * Fills a list to choose from, and keeps what was chosen if it is still there.
 *
 * @param {HTMLSelectElement} select
 * @param {[string, string][]} options values and texts.
 */
export function setOptions(select, options) {
  const chosen = select.value;
  select.replaceChildren(
    ...options.map(([value, text]) => element("option", { value }, text)),
  );
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}

/**
 * Shows a text in an element, which is hidden where there is none.
 *
 * @param {HTMLElement} place
 * @param {string} text
 */
export function showText(place, text) {
  place.textContent = text;
  place.hidden = !text;
}
