"""The command line. It parses, calls a use case and prints; everything heavy is imported by the command that needs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from triage import __version__
from triage.cli.arguments import split_pytest_arguments
from triage.errors import ExitCode, TriageError, UsageError

app = typer.Typer(
    name="triage",
    help="Tell what is wrong with a flaky test: a real bug or a wrong test; why, where, how sure, and what proves the fix.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

FORMATS = ("text", "json", "md")
Format = Annotated[str, typer.Option("--format", metavar="text|json|md", help="How the verdict is printed.")]


def version(value: bool) -> None:
    """Print the version and stop."""
    if value:
        typer.echo(f"triage {__version__}")
        raise typer.Exit


@app.callback()
def main(
    show_version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Hold the options that belong to no command."""
    del show_version


@app.command()
def run(
    node_ids: Annotated[list[str], typer.Argument(metavar="NODEID...", help="Tests, as pytest names them.")],
    python: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH|VERSION|all", help="Another interpreter to compare with. Repeatable."),
    ] = None,
    provision: Annotated[
        str,
        typer.Option(
            metavar="auto|always|never",
            help="When an environment for the project is made (auto: where one lacks pytest).",
        ),
    ] = "auto",
    budget: Annotated[str, typer.Option(metavar="DURATION", help="Time for one test in all: 90s, 2m.")] = "2m",
    trials: Annotated[int | None, typer.Option(min=1, metavar="N", help="At most so many trials for one test.")] = None,
    scope: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Tests that may run around the target (default: the whole project)."),
    ] = None,
    factor: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Vary this factor only. Repeatable.")] = None,
    skip: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Leave this factor alone. Repeatable.")] = None,
    format_: Format = "text",
    fail_on: Annotated[
        list[str] | None, typer.Option(metavar="VERDICT", help="Exit with 1 if a test gets this verdict. Repeatable.")
    ] = None,
    allow_side_effects: Annotated[
        bool, typer.Option("--allow-side-effects", help="Rerun also a test that reaches beyond this machine.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start anew also where an interrupted experiment could be continued.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of the choices of trials (default: drawn).")
    ] = None,
) -> None:
    """Find out why a test is flaky. Arguments after `--` go to pytest."""
    from triage.cli import running  # noqa: PLC0415 - imported by the command that needs it

    _format(format_)
    code = running.run(
        node_ids=node_ids,
        python=python or [],
        provision=provision,
        budget=budget,
        trials=trials,
        scope=scope,
        factors=factor or [],
        skip=skip or [],
        format_=format_,
        fail_on=fail_on or [],
        allow_side_effects=allow_side_effects,
        fresh=fresh,
        seed=seed,
        pytest_args=_pytest_arguments,
    )
    raise typer.Exit(code)


@app.command()
def sweep(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Where to look (default: where pytest looks).")
    ] = None,
    marks: Annotated[
        str | None,
        typer.Option("-m", metavar="EXPR", help="Marks of the tests (default: flaky, quarantine or quarantined)."),
    ] = None,
    shard: Annotated[str | None, typer.Option(metavar="I/N", help="Only part I of N of the tests.")] = None,
    budget: Annotated[str, typer.Option(metavar="DURATION", help="Time for each test: 90s, 2m.")] = "2m",
    python: Annotated[
        list[str] | None, typer.Option(metavar="PATH|VERSION", help="Another interpreter to compare with. Repeatable.")
    ] = None,
    format_: Annotated[
        str | None, typer.Option("--format", metavar="text|json|md", help="How the report is printed (default: text).")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report there; `.md` and `.json` set its format.")
    ] = None,
    fail_on: Annotated[
        list[str] | None, typer.Option(metavar="VERDICT", help="Exit with 1 if a test gets this verdict. Repeatable.")
    ] = None,
    allow_side_effects: Annotated[
        bool, typer.Option("--allow-side-effects", help="Rerun also tests that reach beyond this machine.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start anew also where an interrupted sweep could be continued.")
    ] = False,
) -> None:
    """Triage all flaky-marked and quarantined tests. Arguments after `--` go to pytest."""
    from triage.cli import sweeping  # noqa: PLC0415 - imported by the command that needs it

    code = sweeping.sweep(
        paths=paths or [],
        expression=marks,
        shard=shard,
        python=python or [],
        budget=budget,
        format_=_format(format_) if format_ else None,
        fail_on=fail_on or [],
        allow_side_effects=allow_side_effects,
        fresh=fresh,
        output=output,
        pytest_args=_pytest_arguments,
    )
    raise typer.Exit(code)


@app.command()
def show(
    experiment: Annotated[
        str, typer.Argument(metavar="ID", help="Id of an experiment, its beginning, or `latest`.")
    ] = "latest",
    trials: Annotated[bool, typer.Option("--trials", help="List every trial instead.")] = False,
    format_: Format = "text",
) -> None:
    """Print the verdict of an experiment again."""
    from triage.cli import reading  # noqa: PLC0415 - imported by the command that needs it

    reading.show(experiment, trials=trials, format_=_format(format_))


@app.command()
def history(
    target: Annotated[str | None, typer.Argument(metavar="[NODEID]", help="A test, file or folder.")] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="How many, latest first.")] = 20,
    format_: Annotated[str, typer.Option("--format", metavar="text|json", help="How the list is printed.")] = "text",
) -> None:
    """List the experiments of this project."""
    from triage.cli import reading  # noqa: PLC0415 - imported by the command that needs it

    reading.history(target, limit=limit, format_=_format(format_, ("text", "json")))


@app.command()
def tui() -> None:
    """Look through the experiments of this project in the terminal."""
    from triage.cli import interactive  # noqa: PLC0415 - imported by the command that needs it

    raise typer.Exit(interactive.tui())


@app.command()
def replay(
    experiment: Annotated[
        str, typer.Argument(metavar="ID", help="Id of an experiment, its beginning, or `latest`.")
    ] = "latest",
    trial: Annotated[int | None, typer.Option(metavar="N", help="This trial instead of the reproduction.")] = None,
    counterfactual: Annotated[
        bool, typer.Option("--counterfactual/--original", help="The command that makes the failure go away.")
    ] = False,
    in_one_process: Annotated[
        bool, typer.Option("--in-one-process", help="What the process of trial N ran up to the target, without xdist.")
    ] = False,
    times: Annotated[
        int | None,
        typer.Option(min=1, metavar="K", help="So often (default: as often as the report says, at most 100)."),
    ] = None,
    allow_side_effects: Annotated[
        bool, typer.Option("--allow-side-effects", help="Rerun also a test that reaches beyond this machine.")
    ] = False,
    fail_on: Annotated[
        str | None, typer.Option(metavar="failed|passed", help="Exit with 1 if any trial failed, or if none did.")
    ] = None,
    format_: Annotated[str, typer.Option("--format", metavar="text|json", help="How the result is printed.")] = "text",
) -> None:
    """Run the reproduction of an experiment again, in fresh processes, and count."""
    from triage.cli import replaying  # noqa: PLC0415 - imported by the command that needs it
    from triage.session.replay import ReplayOptions  # noqa: PLC0415 - as above

    options = ReplayOptions(
        experiment=experiment,
        trial=trial,
        counterfactual=counterfactual,
        in_one_process=in_one_process,
        times=times,
        allow_side_effects=allow_side_effects,
    )
    raise typer.Exit(replaying.run(options, format_=_format(format_, ("text", "json")), fail_on=fail_on))


@app.command()
def doctor(
    python: Annotated[
        list[str] | None, typer.Option(metavar="PATH|VERSION", help="Another interpreter to look at. Repeatable.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Check interpreters, collection and the instrument itself."""
    from triage.cli import checking  # noqa: PLC0415 - imported by the command that needs it

    raise typer.Exit(checking.doctor(python or [], format_="json" if json_ else "text"))


@app.command()
def explain(
    cause: Annotated[
        str | None, typer.Argument(metavar="[WORD]", help="Such as `race` or `wrong_test`; all are listed without.")
    ] = None,
) -> None:
    """Explain a cause, verdict or strength: what it means, the evidence it takes, what would refute it, usual fixes."""
    from triage.cli import reading  # noqa: PLC0415 - imported by the command that needs it

    reading.explain(cause)


def _format(value: str, known: Sequence[str] = FORMATS) -> str:
    if value not in known:
        raise UsageError(f"`{value}` is not a format", hint=f"there are {', '.join(known)}")
    return value


_pytest_arguments: list[str] = []
"""What followed `--` on the command line: Typer would mix it with the node ids."""


def entry(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its status."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - closed by the caller: nobody reads, the job is done all the same
    own, rest = split_pytest_arguments(list(sys.argv[1:] if arguments is None else arguments))
    _pytest_arguments[:] = rest
    sys.exit(_run(own))


def _run(arguments: list[str]) -> int:
    try:
        result: Any = app(arguments, prog_name="triage", standalone_mode=False)
    except TriageError as error:
        _complain(error.message, error.hint)
        return int(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):  # outside of a command
        _complain("interrupted")
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        return int(ExitCode.OK)
    except Exception as error:  # noqa: BLE001 - the last line of defence
        return _unexpected(error)
    if result == ExitCode.INTERRUPTED and not isinstance(result, ExitCode):
        _complain("interrupted")  # Typer makes a bare 130 of KeyboardInterrupt; ours has said what is known
    return int(result or 0)


def _unexpected(error: Exception) -> int:
    """Usage errors of the parser are the user's; everything else is a fault of ours."""
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        message = error.format_message().rstrip(".")
        _complain(message[:1].lower() + message[1:], "`triage --help` lists commands and options")
        return int(ExitCode.USAGE)
    import tempfile  # noqa: PLC0415 - only for our own faults
    import traceback  # noqa: PLC0415 - as above

    with tempfile.NamedTemporaryFile("w", prefix="triage-fault-", suffix=".txt", delete=False) as file:
        traceback.print_exc(file=file)
    _complain(
        f"a fault of triage itself: {type(error).__name__}: {error}",
        f"please report it with `{Path(file.name)}`; nothing of your project was changed",
    )
    return int(ExitCode.INTERNAL)


def _complain(message: str, hint: str | None = None) -> None:
    print(f"error: {message}", file=sys.stderr)  # noqa: T201 - this is the place that owns standard error
    if hint:
        print(f"hint: {hint}", file=sys.stderr)  # noqa: T201 - as above


if __name__ == "__main__":
    entry()
