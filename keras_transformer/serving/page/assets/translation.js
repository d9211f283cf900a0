/** Translations, alignments and probabilities, from a version's signatures. */

import { predict } from "./api.js";

// What fills up a row of fewer translations; it has no text.
const FILLER_SCORE = -1e8;
// The last token of a translation.
const END = "</s>";

/**
 * @typedef {object} Hypothesis
 * @property {string} text
 * @property {?number} score
 * @property {number} [probability] of its tokens, the geometric mean, from 0 to
 *   1; not there until `addProbabilities` has asked.
 */

/**
 * @typedef {object} Sentence
 * @property {string} source
 * @property {Hypothesis[]} hypotheses best first.
 * @property {boolean} truncated whether its end was not translated.
 * @property {number} count of sentences that the model found in it.
 */

/**
 * Translates sentences, in one request.
 *
 * @param {object} target model, version and their abilities.
 * @param {string[]} sources
 * @param {AbortSignal} signal
 * @returns {Promise<Sentence[]>}
 */
export async function translate(target, sources, signal) {
  const signature = target.abilities.translate;
  const outputs = await predict(target, signature, { text: sources }, signal);
  return sources.map((source, row) => ({
    source,
    hypotheses: hypothesesOf(outputs, row),
    truncated: Boolean(outputs.truncated?.[row]),
    count: outputs.sentences?.[row] ?? 1,
  }));
}

function hypothesesOf(outputs, row) {
  if (!outputs.translations) {
    const score = outputs.score?.[row] ?? null;
    return [{ text: outputs.translation[row], score }];
  }
  const scores = outputs.scores[row];
  return outputs.translations[row]
    .map((text, rank) => ({ text, score: scores[rank] }))
    .filter(({ text, score }) => text || score > FILLER_SCORE);
}

/**
 * What the best translation attended to.
 *
 * @returns {Promise<{sourceTokens: ?string[], targetTokens: ?string[],
 *   shares: number[][]}>} a row for each token of the translation, a column
 *   for each of the source; null in place of a token is its side's end, and
 *   "" is the source's start.
 */
export async function align(target, source, signal) {
  const signature = target.abilities.align;
  const outputs = await predict(target, signature, { text: [source] }, signal);
  const sourceTokens = outputs.source_tokens[0];
  const targetTokens = outputs.target_tokens[0].filter((token) => token);
  const columns = 1 + sourceTokens.findLastIndex((token) => token);
  const shares = outputs.alignment[0]
    .slice(0, targetTokens.length)
    .map((row) => row.slice(0, columns + 1));
  return {
    sourceTokens: [...sourceTokens.slice(0, columns), null],
    targetTokens: targetTokens.map((token) => (token === END ? null : token)),
    shares,
  };
}

/**
 * Asks for the probabilities of translations, and notes each in its hypothesis.
 *
 * @param {object} target model, version and their abilities.
 * @param {{source: string, hypothesis: Hypothesis}[]} pairs
 * @param {AbortSignal} signal
 */
export async function addProbabilities(target, pairs, signal) {
  const inputs = {
    text: pairs.map(({ source }) => source),
    translation: pairs.map(({ hypothesis }) => hypothesis.text),
  };
  const { score } = target.abilities;
  const outputs = await predict(target, score, inputs, signal);
  pairs.forEach(({ hypothesis }, row) => {
    const tokens = Math.max(1, outputs.tokens[row]);
    hypothesis.probability = Math.exp(outputs.log_probability[row] / tokens);
  });
}
