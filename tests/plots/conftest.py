"""What the tests of pictures share."""

import pytest

pytest.importorskip("matplotlib", reason="needs the extra [plots]")
