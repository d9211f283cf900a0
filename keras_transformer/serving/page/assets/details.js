/** One sentence of the answer: its other translations and its alignment. */

import { showUnsure } from "./answer.js";
import { byId, setOptions, showText } from "./dom.js";
import { inWords } from "./errors.js";
import { showHeatMap } from "./heat_map.js";
import { showHypotheses } from "./hypotheses.js";
import { textLanguage } from "./languages.js";
import { LatestTask } from "./latest_task.js";
import { watchScroll } from "./scroll_hint.js";
import { recall, remember } from "./storage.js";
import { addProbabilities, align } from "./translation.js";

const OPEN_KEY = "alignment";
const SHOWN_CHARACTERS = 40;

/** Whether there is an alignment: of texts, only one sentence at once. */
const canAlign = (abilities, { count }) => abilities.align && count <= 1;

/** Asks for the details that the version has, when they are looked at. */
export class Details {
  #answer = null;
  #alignment = null;
  #problem = null;
  #task = new LatestTask((signal) => this.#load(signal));

  constructor() {
    const part = byId("alignment-part");
    part.open = recall(OPEN_KEY) !== "closed";
    part.addEventListener("toggle", () => {
      remember(OPEN_KEY, part.open ? "open" : "closed");
      if (part.open && this.#answer && !this.#alignment) this.#task.start();
    });
    byId("sentence").addEventListener("change", () => this.#restart());
    watchScroll(byId("alignment-scroll"), byId("scroll-hint"));
  }

  /** @param {?object} answer as for `showAnswer`. */
  show(answer) {
    this.#answer = answer;
    this.#restart();
  }

  /** Says again what depends on the page's language. */
  render() {
    const answer = this.#answer;
    byId("details").hidden = !answer;
    if (!answer) return;
    const { abilities, languages: ofModel } = answer.target;
    const sentence = this.#sentence();
    const text = sentence.hypotheses[0]?.text ?? "";
    const languages = {
      source: textLanguage(sentence.source, ofModel, "source"),
      target: textLanguage(text, ofModel, "target"),
    };
    this.#renderHypotheses(sentence, abilities, languages.target);
    byId("alignment-part").hidden = !canAlign(abilities, sentence);
    const problem = this.#problem;
    showText(byId("details-problem"), problem ? inWords(problem) : "");
    byId("alignment-scroll").hidden = !this.#alignment;
    if (this.#alignment) {
      showHeatMap(byId("alignment"), this.#alignment, languages);
    }
  }

  #renderHypotheses({ hypotheses }, abilities, lang) {
    const scored = hypotheses.some(({ score }) => score !== null);
    byId("hypotheses-part").hidden = !scored;
    byId("probability-hint").hidden = !abilities.score;
    if (!scored) return;
    // The column is there before its numbers, so that nothing moves.
    const withProbability = Boolean(abilities.score);
    showHypotheses(byId("hypotheses"), hypotheses, withProbability, lang);
  }

  #restart() {
    this.#task.cancel();
    this.#alignment = this.#problem = null;
    this.#fillSentences();
    this.render();
    if (this.#answer) this.#task.start();
  }

  #fillSentences() {
    const sentences = this.#answer?.sentences ?? [];
    byId("sentence-field").hidden = sentences.length < 2;
    setOptions(
      byId("sentence"),
      sentences.map(({ source }, index) => [
        String(index),
        `${index + 1}. ${source.slice(0, SHOWN_CHARACTERS)}`,
      ]),
    );
  }

  #sentence() {
    return this.#answer.sentences[Number(byId("sentence").value)];
  }

  async #load(signal) {
    const { target, sentences } = this.#answer;
    const sentence = this.#sentence();
    this.#problem = null;
    try {
      if (target.abilities.score) {
        await this.#addProbabilities([sentence], signal);
        const best = sentences.map(({ source, hypotheses }) => ({
          source,
          hypotheses: hypotheses.slice(0, 1),
        }));
        await this.#addProbabilities(best, signal);
      }
      const isAligned = canAlign(target.abilities, sentence);
      if (isAligned && byId("alignment-part").open) {
        const alignment = await align(target, sentence.source, signal);
        if (signal.aborted) return;
        this.#alignment = alignment;
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#problem = error;
    }
    this.render();
  }

  /** Asks for those that aren't known yet, in one request. */
  async #addProbabilities(sentences, signal) {
    const unknown = sentences.flatMap(({ source, hypotheses }) =>
      hypotheses
        .filter(({ probability }) => probability === undefined)
        .map((hypothesis) => ({ source, hypothesis })),
    );
    if (!unknown.length) return;
    await addProbabilities(this.#answer.target, unknown, signal);
    if (signal.aborted) return;
    showUnsure(this.#answer);
    this.render();
  }
}
