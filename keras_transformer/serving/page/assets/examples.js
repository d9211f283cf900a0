/** A sentence to begin with, in the language that a model translates. */

// One sentence, in words that most corpora have.
const SENTENCES = {
  ar: "لديها قطتان.",
  cs: "Má dvě kočky.",
  da: "Hun har to katte.",
  de: "Sie hat zwei Katzen.",
  el: "Έχει δύο γάτες.",
  en: "She has two cats.",
  es: "Ella tiene dos gatos.",
  fi: "Hänellä on kaksi kissaa.",
  fr: "Elle a deux chats.",
  he: "יש לה שני חתולים.",
  hi: "उसके पास दो बिल्लियाँ हैं।",
  hu: "Két macskája van.",
  id: "Dia punya dua kucing.",
  it: "Lei ha due gatti.",
  ja: "彼女は猫を二匹飼っています。",
  ko: "그녀는 고양이 두 마리가 있다.",
  nl: "Zij heeft twee katten.",
  pl: "Ona ma dwa koty.",
  pt: "Ela tem dois gatos.",
  ro: "Ea are două pisici.",
  ru: "У неё две кошки.",
  sv: "Hon har två katter.",
  th: "เธอมีแมวสองตัว",
  tr: "Onun iki kedisi var.",
  uk: "У неї двоє котів.",
  vi: "Cô ấy có hai con mèo.",
  zh: "她有两只猫。",
};

/**
 * An example for a model.
 *
 * @param {?{source: string}} languages of the model; English where they are
 *   unknown.
 * @returns {?{text: string, lang: string}} null: none in its language.
 */
export function exampleFor(languages) {
  const lang = (languages?.source ?? "en").toLowerCase().split("-")[0];
  const known = Object.hasOwn(SENTENCES, lang);
  return known ? { text: SENTENCES[lang], lang } : null;
}
