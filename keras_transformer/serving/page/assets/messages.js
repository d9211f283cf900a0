/** What the page says, in its languages. */

const ENGLISH = {
  title: "Translate",
  interface: "Language of this page",
  model: "Model",
  version: "Version",
  latest: "latest",
  source: "Text to translate",
  sourceHint:
    "Sentences or paragraphs. They are translated as you stop typing; " +
    "Ctrl+Enter translates at once.",
  clear: "Clear",
  example: "Example:",
  translation: "Translation",
  working: "Translating…",
  about: "{model}, version {version}, {milliseconds} ms",
  aboutSeveral:
    "{model}, version {version}, {count} sentences, {milliseconds} ms",
  truncated:
    "Truncated: the text or its translation is longer than the model takes; " +
    "the end is missing.",
  truncatedSome:
    "Truncated, as longer than the model takes: {numbers}. The end is " +
    "missing.",
  unsure:
    "Unsure: the tokens of this translation have a probability of only " +
    "{percent} each, their geometric mean. It may be wrong.",
  unsureSome:
    "Unsure: low probability per token, so these may be wrong: {numbers}.",
  numberedSentence: "sentence {number}",
  listComma: ", ",
  noText: "(no text)",
  retry: "Try again",
  copy: "Copy",
  copied: "Copied.",
  copyFailed: "The browser does not allow it.",
  sentence: "Details of sentence",
  hypotheses: "Alternatives",
  rank: "Rank",
  score: "Score",
  probability: "Per token",
  scoreMeaning:
    "The score is the log-probability of the translation, divided by a " +
    "penalty that grows with its length. The closer to 0, the more the " +
    "model prefers it.",
  probabilityMeaning:
    "Per token is the geometric mean of the probabilities that the model " +
    "gives the translation's tokens.",
  alignment: "Alignment",
  alignmentMeaning:
    "How each token of the translation (a row) shares out its attention " +
    "over the tokens of the text (the columns), in percent. The largest " +
    "share of a row is framed.",
  scrollHint: "The table is wider than the screen: scroll it sideways. →",
  sourceSide: "Text",
  targetSide: "Translation",
  start: "(start)",
  end: "(end)",
  errorNoAnswer:
    "The server does not answer. It may have been stopped, or the network " +
    "is down.",
  errorUnreadable: "The server's answer can't be read.",
  errorRefused: "The server refused the text: {message}",
  errorNotFound: "The model or its version is not there any more: {message}",
  errorTooLarge:
    "This is too much text for one request. Shorten it. ({message})",
  errorTooMany:
    "The server has too many requests at the moment. Wait, then try again.",
  errorUnavailable:
    "The server is busy or not ready. Wait a moment, then try again.",
  errorTooLate:
    "The server took too long. Try again, or with less text.",
  errorFailed: "The server failed ({status}): {message}",
  errorNoModels: "The server has no models.",
  errorNoVersion: "No version of {model} is loaded. Try again in a moment.",
  errorNoTranslation:
    "{model}, version {version}, does not translate text: it has neither " +
    "signature nbest nor serving_default with a text and its translation.",
};

const CHINESE = {
  title: "翻译",
  interface: "页面语言",
  model: "模型",
  version: "版本",
  latest: "最新",
  source: "原文",
  sourceHint: "句子或段落。停止输入后自动翻译；按 Ctrl+Enter 立即翻译。",
  clear: "清空",
  example: "例句：",
  translation: "译文",
  working: "正在翻译……",
  about: "{model}，版本 {version}，{milliseconds} 毫秒",
  aboutSeveral: "{model}，版本 {version}，{count} 句，{milliseconds} 毫秒",
  truncated: "已截断（truncated）：原文或译文超出模型的长度，缺少末尾。",
  truncatedSome:
    "已截断（truncated）：{numbers}超出模型的长度，缺少末尾。",
  unsure:
    "把握不大：模型给这个译文各词元的概率只有 {percent}（几何平均），译文可能有误。",
  unsureSome: "把握不大：以下译文每词元的概率低，可能有误：{numbers}。",
  numberedSentence: "第 {number} 句",
  listComma: "、",
  noText: "（空）",
  retry: "重试",
  copy: "复制",
  copied: "已复制。",
  copyFailed: "浏览器不允许复制。",
  sentence: "查看句子",
  hypotheses: "候选译文",
  rank: "名次",
  score: "得分",
  probability: "每词元",
  scoreMeaning:
    "得分是译文的对数概率除以随译文长度增大的惩罚。越接近 0，模型越倾向于该译文。",
  probabilityMeaning: "每词元是指模型给译文各词元的概率的几何平均。",
  alignment: "对齐",
  alignmentMeaning:
    "译文的每个词元（行）在原文各词元（列）上的注意力分配，以百分比表示。" +
    "每行最大的一格加框。",
  scrollHint: "表格比屏幕宽，请左右滑动查看。→",
  sourceSide: "原文",
  targetSide: "译文",
  start: "（句首）",
  end: "（句末）",
  errorNoAnswer: "服务器没有应答。可能已停止，或者网络中断。",
  errorUnreadable: "无法读取服务器的应答。",
  errorRefused: "服务器拒绝了这段文字：{message}",
  errorNotFound: "该模型或版本已不存在：{message}",
  errorTooLarge: "一次请求的文字太多，请缩短。（{message}）",
  errorTooMany: "服务器当前请求过多，请稍候重试。",
  errorUnavailable: "服务器繁忙或尚未就绪，请稍候重试。",
  errorTooLate: "服务器用时过长。请重试，或减少文字。",
  errorFailed: "服务器出错（{status}）：{message}",
  errorNoModels: "服务器没有模型。",
  errorNoVersion: "{model} 没有已加载的版本，请稍候重试。",
  errorNoTranslation:
    "{model} 版本 {version} 不能翻译文字：它没有 nbest 签名，" +
    "serving_default 签名也不是从文字到译文。",
};

/** The texts by language, for those who change them. */
export const MESSAGES = { en: ENGLISH, zh: CHINESE };
