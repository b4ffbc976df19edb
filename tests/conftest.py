"""What holds for all tests: processes that they start find compiled what another one has compiled, in a folder that goes away."""

import os
import shutil
import tempfile

BYTECODE = "PYTHONPYCACHEPREFIX"


def pytest_configure(config):
    """Before workers of xdist start, which inherit it; a run inside a run makes its own."""
    if os.environ.get("PYTEST_XDIST_WORKER"):
        return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    config.triage_bytecode = os.environ[BYTECODE] = tempfile.mkdtemp(prefix="triage-tests-bytecode-")


def pytest_unconfigure(config):
    folder = getattr(config, "triage_bytecode", None)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
