"""What `triage --help` loads, and that every module can be imported by itself."""

import json
import pkgutil
import subprocess
import sys

import triage

HEAVY = {"textual", "sqlmodel", "sqlalchemy", "scipy", "numpy", "pytest", "distributed", "jinja2", "python_discovery"}


def loaded(code):
    script = f"import sys, json\n{code}\nprint(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_help_loads_nothing_heavy():
    code = "from triage.cli.main import app\ntry:\n    app(['run', '--help'])\nexcept SystemExit:\n    pass"
    assert not loaded(code) & HEAVY


def test_the_instrument_would_see_a_heavy_import():
    assert "scipy" in loaded("import scipy.special") & HEAVY


def test_every_module_imports_alone_and_without_warnings():
    names = [
        module.name
        for module in pkgutil.walk_packages(triage.__path__, "triage.")
        if not module.name.startswith("triage.probe.") and module.name not in {"triage.__main__"}
    ]
    assert len(names) > 60
    script = "import importlib, sys\nfor name in sys.argv[1:]:\n    importlib.import_module(name)\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *names], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
