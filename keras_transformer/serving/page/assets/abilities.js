/** What a version can do, told by its signatures. */

/**
 * @typedef {object} Signature
 * @property {string} name
 * @property {Object<string, string>} inputs types by name.
 * @property {Object<string, string>} outputs types by name.
 */

/**
 * Finds the signatures that the page has a use for.
 *
 * @param {object} definitions `SignatureDef`s by name, as JSON.
 * @returns {{translate: ?Signature, align: ?Signature, score: ?Signature}}
 *   `translate` gives several translations or one; what the version lacks is
 *   null.
 */
export function abilitiesOf(definitions) {
  const find = (name, inputs, outputs) => {
    const found = definitions[name] && signatureOf(name, definitions[name]);
    return found && has(found, inputs, outputs) ? found : null;
  };
  const text = ["text"];
  return {
    translate:
      find("nbest", text, ["translations", "scores"]) ??
      find("serving_default", text, ["translation"]),
    align: find("align", text, [
      "source_tokens",
      "target_tokens",
      "alignment",
    ]),
    score: find(
      "score",
      ["text", "translation"],
      ["log_probability", "tokens"],
    ),
  };
}

function signatureOf(name, { inputs, outputs }) {
  return { name, inputs: typesOf(inputs), outputs: typesOf(outputs) };
}

function typesOf(tensors = {}) {
  const types = Object.entries(tensors).map(([name, t]) => [name, t.dtype]);
  return Object.fromEntries(types);
}

// REST wants every input, so one that the page doesn't know rules it out.
function has(signature, inputs, outputs) {
  const given = Object.entries(signature.inputs);
  return (
    given.length === inputs.length &&
    given.every(([name, type]) => inputs.includes(name) && isString(type)) &&
    outputs.every((name) => name in signature.outputs)
  );
}

function isString(type) {
  return type === "DT_STRING";
}
