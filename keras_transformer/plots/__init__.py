"""Plots: pure functions that return a Matplotlib `Figure`, and their data.

Needs the extra `[plots]`. Nothing here uses pyplot, so figures don't accumulate
and no window opens; `save_figure` writes SVG or PNG. Functions that draw take
`language`, "en" or "zh", for the labels.
"""

from keras_transformer.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
