"""What lies where in a version folder, and what the signatures are called."""

SAVED_MODEL = "saved_model.pb"
VARIABLES = "variables/variables"
# The only name under which the server looks for requests to warm up with.
WARMUP = "assets.extra/tf_serving_warmup_requests"
DESCRIPTION = "assets.extra/keras_transformer.json"
REFERENCE = "assets.extra/reference.json"

TAG = "serve"
# The server's own name for the signature of a request that names none.
BEAM = "serving_default"
GREEDY = "greedy"
SIGNATURES = (BEAM, GREEDY)

INPUT = "text"
TRANSLATION = "translation"
SCORE = "score"
