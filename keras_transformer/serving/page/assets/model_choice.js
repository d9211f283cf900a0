/** Which model and version translates. */

import { abilitiesOf } from "./abilities.js";
import { availableVersions, servedModels, signatureDefs } from "./api.js";
import { setOptions } from "./dom.js";
import { PageError } from "./errors.js";
import { say } from "./interface_language.js";
import { languagesOf, modelLabel } from "./languages.js";

const LATEST = "";

/** The two lists to choose from. */
export class ModelChoice {
  #models;
  #versions;
  #available = [];
  #stated = {};
  #abilities = new Map();

  /**
   * @param {HTMLSelectElement} models
   * @param {HTMLSelectElement} versions
   * @param {function()} changed called when the user chose.
   */
  constructor(models, versions, changed) {
    this.#models = models;
    this.#versions = versions;
    models.addEventListener("change", () => {
      versions.value = LATEST;
      changed();
    });
    versions.addEventListener("change", changed);
  }

  /** Fills both lists with what the server has now. */
  async refresh(signal) {
    const { models, languages } = await servedModels(signal);
    signal.throwIfAborted();
    if (!models.length) throw new PageError("errorNoModels");
    this.#stated = languages;
    setOptions(
      this.#models,
      models.map((name) => [
        name,
        modelLabel(name, languagesOf(name, languages)),
      ]),
    );
    await this.#refreshVersions(signal);
  }

  async #refreshVersions(signal) {
    const available = await availableVersions(this.#models.value, signal);
    signal.throwIfAborted();
    this.#available = available;
    this.showVersions();
  }

  /** Fills the list of versions, in the page's language. */
  showVersions() {
    const latest = this.#available[0];
    const text = latest ? `${say("latest")} (${latest})` : say("latest");
    const options = this.#available.map((number) => [number, number]);
    setOptions(this.#versions, [[LATEST, text], ...options]);
  }

  /** @returns {?object} the chosen model's, as `languagesOf` gives them. */
  get languages() {
    return languagesOf(this.#models.value, this.#stated);
  }

  /**
   * What was chosen. "Latest" becomes a number, so that the page knows which
   * version has answered.
   *
   * @returns {Promise<{model: string, version: string, abilities: object,
   *   languages: ?object, label: string}>} `label` names the model to people.
   */
  async target(signal) {
    if (this.#models.value) await this.#refreshVersions(signal);
    else await this.refresh(signal);
    const model = this.#models.value;
    const version = this.#versions.value || this.#available[0];
    if (!version) throw new PageError("errorNoVersion", { model });
    const abilities = await this.#abilitiesOf(model, version, signal);
    if (!abilities.translate) {
      throw new PageError("errorNoTranslation", { model, version });
    }
    const { languages } = this;
    const label = modelLabel(model, languages);
    return { model, version, abilities, languages, label };
  }

  async #abilitiesOf(model, version, signal) {
    const key = `${model}/${version}`;
    if (!this.#abilities.has(key)) {
      const definitions = await signatureDefs(model, version, signal);
      this.#abilities.set(key, abilitiesOf(definitions));
    }
    return this.#abilities.get(key);
  }
}
