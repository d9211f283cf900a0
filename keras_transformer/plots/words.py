"""The words on the pictures, in English and Chinese."""

from keras_transformer.errors import InputError

_CHINESE = {
    "BLEU": "BLEU",
    "Cross-attention": "交叉注意力",
    "Cross-entropy (nats per token)": "交叉熵（奈特/词元）",
    "Decoder self-attention": "解码器自注意力",
    "Dev BLEU": "验证集 BLEU",
    "Dev cross-entropy (nats per token)": "验证集交叉熵（奈特/词元）",
    "Dimension": "维度",
    "Encoder self-attention": "编码器自注意力",
    "Epoch": "轮次",
    "Head": "头",
    "Key: token read": "键：被读取的词元",
    "Layer": "层",
    "Learning rate": "学习率",
    "Length (tokens)": "长度（词元数）",
    "Minutes of training": "训练时间（分钟）",
    "Position": "位置",
    "Padding (% of positions)": "填充（占位置的百分比）",
    "Query: token": "查询：词元",
    "Query: token being written": "查询：正在写出的词元",
    "Sentence pairs": "句对数",
    "Step": "步数",
    "Target token": "目标词元",
    "Target tokens per second": "每秒目标词元数",
    "Token accuracy": "词元准确率",
    "Value": "取值",
    "Vocabulary": "词表",
    "attention weight": "注意力权重",
    "best translation": "最佳译文",
    "buckets": "按长度分桶",
    "buckets by tokens": "分桶，按词元数定批次",
    "dev": "验证集",
    "dimension": "维度",
    "ended": "结束",
    "hidden": "被遮住",
    "in any order": "不排序",
    "median": "中位数",
    "other hypotheses": "其他候选",
    "padding": "填充",
    "probability": "概率",
    "score": "得分",
    "sorted by source (notebook)": "按源句长度排序（笔记本）",
    "searched": "共搜索",
    "source": "源语言",
    "target": "目标语言",
    "training": "训练集",
    "visible": "可见",
    "warm-up": "预热",
}
LANGUAGES = ("en", "zh")


def labels(language: str):
    """A function from an English label to that of a language.

    Args:
        language: "en" or "zh".

    Raises:
        InputError: another language.
    """
    if language not in LANGUAGES:
        raise InputError(
            f"language must be one of {', '.join(LANGUAGES)}. "
            f"Received: {language!r}"
        )
    return _CHINESE.__getitem__ if language == "zh" else str
