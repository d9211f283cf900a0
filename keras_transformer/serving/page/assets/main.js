/** The page's parts put together. */

import {
  plainText,
  sayAbout,
  showAnswer,
  showProblem,
  showWorking,
} from "./answer.js";
import { Details } from "./details.js";
import { byId } from "./dom.js";
import { exampleFor } from "./examples.js";
import {
  chooseLanguage,
  preferredLanguage,
  say,
  setLanguage,
} from "./interface_language.js";
import { textLanguage } from "./languages.js";
import { LatestTask } from "./latest_task.js";
import { ModelChoice } from "./model_choice.js";
import { translate } from "./translation.js";

// Long enough to go on typing in, short enough not to be waited for.
const PAUSE_MS = 350;

const source = byId("source");
const details = new Details();
const task = new LatestTask(translateNow);
const choice = new ModelChoice(byId("model"), byId("version"), () =>
  task.start(),
);
let answer = null;
let problem = null;

async function translateNow(signal) {
  const sentences = linesOf(source.value);
  try {
    if (!sentences.length) {
      show(null);
      await choice.refresh(signal);
      showExample();
      return;
    }
    showWorking();
    // The models may have changed since something went wrong.
    if (problem) await choice.refresh(signal);
    const target = await choice.target(signal);
    const started = performance.now();
    const translated = await translate(target, sentences, signal);
    if (signal.aborted) return;
    const milliseconds = performance.now() - started;
    source.lang = textLanguage(source.value, target.languages, "source");
    show({ target, sentences: translated, milliseconds });
  } catch (error) {
    // Who aborted it has something newer to show.
    if (!signal.aborted) show(null, error);
  }
}

function show(newAnswer, newProblem = null) {
  answer = newAnswer;
  problem = newProblem;
  if (problem) showProblem(problem);
  else showAnswer(answer);
  details.show(answer);
}

/** Shows it where it is no loss to what was typed. */
function showExample() {
  const example = exampleFor(choice.languages);
  byId("example").hidden = !example || Boolean(source.value);
  byId("example-text").textContent = example?.text ?? "";
  byId("example-text").lang = example?.lang ?? "";
}

function linesOf(text) {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line);
}

function sayAgain() {
  choice.showVersions();
  if (problem) showProblem(problem);
  else sayAbout(answer);
  details.render();
}

async function copy() {
  try {
    await navigator.clipboard.writeText(plainText(answer));
    byId("copied").textContent = say("copied");
  } catch {
    byId("copied").textContent = say("copyFailed");
  }
}

function listen() {
  source.addEventListener("input", (event) => {
    // Half a word of an input method is no text yet.
    if (!event.isComposing) task.start(PAUSE_MS);
    showExample();
  });
  source.addEventListener("compositionend", () => task.start(PAUSE_MS));
  source.addEventListener("keydown", (event) => {
    const wanted = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    if (wanted && !event.isComposing) task.start();
  });
  byId("clear").addEventListener("click", () => {
    source.value = "";
    source.focus();
    showExample();
    task.start();
  });
  byId("example").addEventListener("click", () => {
    source.value = byId("example-text").textContent;
    source.focus();
    showExample();
    task.start();
  });
  byId("retry").addEventListener("click", () => task.start());
  byId("copy").addEventListener("click", copy);
  const language = byId("interface");
  language.addEventListener("change", () => {
    chooseLanguage(language.value);
    sayAgain();
  });
}

byId("interface").value = preferredLanguage();
setLanguage(byId("interface").value);
listen();
// A browser may have kept what was typed before.
task.start();
