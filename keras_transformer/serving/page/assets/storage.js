/** What the page remembers in this browser. */

const PREFIX = "keras-transformer-page.";

/** @returns {?string} what was remembered. */
export function recall(key) {
  try {
    return localStorage.getItem(PREFIX + key);
  } catch {
    return null; // A browser may forbid it.
  }
}

/** Remembers a string. */
export function remember(key, value) {
  try {
    localStorage.setItem(PREFIX + key, value);
  } catch {
    // Then it is forgotten.
  }
}
