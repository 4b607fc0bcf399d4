"""What several test files share."""

import pytest
from lan import Lan


@pytest.fixture
def lan(tmp_path):
    # The folder holds sockets, whose paths must be short.
    made = Lan(tmp_path)
    yield made
    made.close()
