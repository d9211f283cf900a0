"""What is written on a figure."""


def ticks(axis):
    """The texts of the ticks of an axis."""
    return [label.get_text() for label in axis.get_ticklabels()]


def texts(axes):
    """The texts inside of axes."""
    return [text.get_text() for text in axes.texts]
