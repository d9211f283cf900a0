/** Work of which only the latest matters. */

/** Starts work after a pause; a new start cancels what was before it. */
export class LatestTask {
  #run;
  #timer = 0;
  #controller = new AbortController();

  /** @param {function(AbortSignal): Promise} run must not fail, and must
   *    show nothing once the signal is aborted. */
  constructor(run) {
    this.#run = run;
  }

  /** @param {number} delay milliseconds. */
  start(delay = 0) {
    this.cancel();
    const { signal } = this.#controller;
    this.#timer = setTimeout(() => this.#run(signal), delay);
  }

  cancel() {
    clearTimeout(this.#timer);
    this.#controller.abort();
    this.#controller = new AbortController();
  }
}
