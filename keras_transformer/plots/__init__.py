"""Pictures: pure functions that return a Matplotlib `Figure`, and their data.

Needs the extra `[plots]`. Nothing here uses pyplot, so that no figure stays
behind and no window opens; `save_figure` writes SVG or PNG. What draws takes
`language`, "en" or "zh", for the words on the axes.
"""

from keras_transformer.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
