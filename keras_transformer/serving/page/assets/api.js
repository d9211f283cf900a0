/** Requests to the server: TensorFlow Serving's REST API. */

// The server has a limit of its own; this is for one that is cut off.
const TIMEOUT_MS = 60_000;
// What a form of another site can't send.
const OWN = { "X-Requested-With": "keras-transformer" };

/** A request that failed. */
export class RequestError extends Error {
  /**
   * @param {number} status of HTTP; 0: no answer came; 200: it was no JSON.
   * @param {string} message the server's words.
   */
  constructor(status, message = "") {
    super(message);
    this.status = status;
  }
}

/**
 * What is served.
 *
 * @returns {Promise<{models: string[], languages: Object<string, string[]>}>}
 *   the models' names, and the tags of source and target of those whose export
 *   says them.
 */
export function servedModels(signal) {
  return ask("assets/models.json", { signal });
}

/** @returns {Promise<string[]>} the loaded versions' numbers, newest first. */
export async function availableVersions(model, signal) {
  const body = await ask(modelPath(model), { signal });
  return body.model_version_status
    .filter(({ state }) => state === "AVAILABLE")
    .map(({ version }) => version)
    .sort((a, b) => Number(BigInt(b) - BigInt(a)));
}

/** @returns {Promise<object>} `SignatureDef`s by name, as JSON. */
export async function signatureDefs(model, version, signal) {
  const path = `${modelPath(model, version)}/metadata`;
  const body = await ask(path, { signal });
  return body.metadata.signature_def.signature_def;
}

/**
 * Calls a signature with columns of equal length.
 *
 * @param {{model: string, version: string}} target
 * @param {{name: string, outputs: object}} signature
 * @param {object} inputs lists by name.
 * @param {AbortSignal} signal
 * @returns {Promise<object>} nested lists by the outputs' names.
 */
export async function predict({ model, version }, signature, inputs, signal) {
  const request = { signature_name: signature.name, inputs };
  const body = await ask(`${modelPath(model, version)}:predict`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(request),
    signal,
  });
  const names = Object.keys(signature.outputs);
  // An output that is alone comes without its name.
  return names.length === 1 ? { [names[0]]: body.outputs } : body.outputs;
}

// Relative, so that the page also works below a path of a proxy's.
function modelPath(model, version) {
  const path = `v1/models/${encodeURIComponent(model)}`;
  return version ? `${path}/versions/${version}` : path;
}

async function ask(path, { signal, headers, ...options } = {}) {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const signals = signal ? [signal, timeout] : [timeout];
  let response, body;
  try {
    response = await fetch(path, {
      ...options,
      headers: { ...headers, ...OWN },
      signal: AbortSignal.any(signals),
    });
    body = await response.text();
  } catch {
    throw new RequestError(0);
  }
  if (!response.ok) throw new RequestError(response.status, errorOf(body));
  try {
    return JSON.parse(body);
  } catch {
    // A score that is no number, for one: JSON has no word for it.
    throw new RequestError(response.status);
  }
}

// A proxy's error may be no JSON.
function errorOf(body) {
  try {
    return String(JSON.parse(body).error ?? "");
  } catch {
    return "";
  }
}
