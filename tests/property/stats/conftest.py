from collections.abc import Iterator

import pytest
from hypothesis import configuration


@pytest.fixture(scope="session", autouse=True)
def _hypothesis_writes_nothing_into_the_checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    # Its folder in the root would make the next collection warn, and a warning is an error here.
    configuration.set_hypothesis_home_dir(tmp_path_factory.mktemp("hypothesis"))
    yield
    configuration.set_hypothesis_home_dir(None)
