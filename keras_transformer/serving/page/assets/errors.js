/** What went wrong, in words. */

import { RequestError } from "./api.js";
import { say } from "./interface_language.js";

const BY_STATUS = {
  0: "errorNoAnswer",
  200: "errorUnreadable",
  400: "errorRefused",
  404: "errorNotFound",
  408: "errorTooLarge",
  413: "errorTooLarge",
  429: "errorTooMany",
  502: "errorUnavailable",
  503: "errorUnavailable",
  504: "errorTooLate",
};

/** Something that keeps the page from asking at all. */
export class PageError extends Error {
  /**
   * @param {string} key of the message.
   * @param {object} values for it.
   */
  constructor(key, values = {}) {
    super(key);
    this.key = key;
    this.values = values;
  }
}

/** Any error as a sentence in the page's language. */
export function inWords(error) {
  if (error instanceof PageError) return say(error.key, error.values);
  const status = error instanceof RequestError ? error.status : "?";
  const message = error.message;
  return say(BY_STATUS[status] ?? "errorFailed", { status, message });
}
