from __future__ import annotations

import textwrap

import pytest

from triage.classify.source import deadly_call

HEAD = "import ctypes, faulthandler, os, random, signal, sys\nfrom os import abort\nimport signal as sig\nfrom shop import native\n"


def at(body: str, signal: str | None = "SIGSEGV", head: str = HEAD) -> str | None:
    """Judge the line of `body` that ends in `# here`."""
    source = f"{head}\ndef test_read(*args):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n"
    line = next(number for number, text in enumerate(source.splitlines(), 1) if "# here" in text)
    return deadly_call(source, "test_read", line, signal)


@pytest.mark.parametrize(
    ("body", "signal", "expected"),
    [
        ("ctypes.string_at(0)  # here", "SIGSEGV", "ctypes.string_at"),
        ("os.abort()  # here", "SIGABRT", "os.abort"),
        ("abort()  # here", "SIGABRT", "os.abort"),
        ("x = native.open()\nassert x\nos.abort()  # here", "SIGABRT", "os.abort"),
        ("if random.random() < 0.3:\n    os.abort()  # here", "SIGABRT", "os.abort"),
        ("if sys.version_info >= (3, 13):\n    os.abort()  # here", "SIGABRT", "os.abort"),
        ("if sys.version_info[0] == 3 and not sys.platform == 'x':\n    os.abort()  # here", "SIGABRT", "os.abort"),
        ("with open(native.path):\n    os.abort()  # here", "SIGABRT", "os.abort"),
        ("ctypes.string_at(  # here\n    0,\n)", "SIGSEGV", "ctypes.string_at"),
    ],
)
def test_a_call_that_ends_the_process_whatever_the_product_does(body: str, signal: str, expected: str) -> None:
    assert at(body, signal) == expected


@pytest.mark.parametrize(
    "body",
    [
        "native.read()  # here",
        "assert native.read() == 1  # here",
        "native.run(os.abort)  # here",
        "native.alive() or os.abort()  # here",
        "os.kill(native.pid(), signal.SIGSEGV)  # here",
        "ctypes.string_at(native.address())  # here",
        "ctypes.string_at(args[0])  # here",
        "ctypes.CDLL(native.path).read(0)  # here",
        "library.read(0)  # here",
        "if not native.ok():\n    os.abort()  # here",
        "done = native.wait(5)\nif not done:\n    os.abort()  # here",
        "if 'LEFT' in os.environ:\n    os.abort()  # here",
        "if random.random() < native.rate:\n    os.abort()  # here",
        "try:\n    native.read()\nexcept OSError:\n    os.abort()  # here",
        "try:\n    native.read()\nfinally:\n    os.abort()  # here",
        "try:\n    native.read()\nexcept OSError:\n    pass\nelse:\n    os.abort()  # here",
        "while not native.ok():\n    os.abort()  # here",
        "for _ in range(3):\n    native.read()\nelse:\n    os.abort()  # here",
        "if native.ok():\n    return\nos.abort()  # here",
        "match native.state():\n    case 1:\n        os.abort()  # here",
        "def watchdog():\n    os.abort()  # here",
        "run = lambda: os.abort()  # here",
        "os = native\nos.abort()  # here",
        "[os.abort() for _ in native.items()]  # here",
    ],
)
def test_everything_behind_which_a_product_could_hide(body: str) -> None:
    assert at(body, "SIGABRT") is None


@pytest.mark.parametrize(
    "body",
    [
        "os.kill(os.getpid(), signal.SIGABRT)  # here",
        "sig.raise_signal(sig.SIGABRT)  # here",
        "with native.Guard(), pytest.raises(native.Fatal):\n    sig.raise_signal(sig.SIGABRT)  # here",
        "faulthandler._sigabrt()  # here",
    ],
)
def test_a_signal_that_a_handler_of_the_product_was_to_take(body: str) -> None:
    """Whether a process dies by a signal that is sent is decided by its handlers, and those may be the product's."""
    assert at(body, "SIGABRT") is None


def test_another_signal_than_the_call_raises() -> None:
    assert at("os.abort()  # here", "SIGSEGV") is None


def test_a_parameter_hides_an_import() -> None:
    assert deadly_call("import os\ndef test_read(os):\n    os.abort()\n", "test_read", 3, "SIGABRT") is None


def test_a_name_that_no_import_binds() -> None:
    assert at("os.abort()  # here", "SIGABRT", head="from shop.fakes import *\n") is None
    assert at("os.abort()  # here", "SIGABRT", head="from . import os\n") is None


@pytest.mark.parametrize("source", ["", "def test_read(:\n", "\0", "def test_other():\n    import os; os.abort()\n"])
def test_source_that_tells_nothing(source: str) -> None:
    assert deadly_call(source, "test_read", 2, "SIGABRT") is None


def test_a_line_outside_of_the_function() -> None:
    source = "import os\ndef test_read():\n    pass\nos.abort()\n"
    assert deadly_call(source, "test_read", 4, "SIGABRT") is None
