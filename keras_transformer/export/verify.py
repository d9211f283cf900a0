"""`python -m keras_transformer.export.verify FOLDER`: see `verification`."""

import sys

from keras_transformer.export.verification.verify import main

if __name__ == "__main__":
    sys.exit(main())
