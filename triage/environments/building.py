"""Fill one environment: the project, what its tests need, and pytest; from a copy, and leading to the sources."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from packaging.version import Version

from triage.environments.copying import copy, digest, files, generated
from triage.environments.installer import Installer, InstallError, Job, pip_version
from triage.environments.relocation import Local, installed_from, relocate
from triage.targets import requirement_files
from triage.targets.inspection import Answer
from triage.targets.requirements import Needs, Source, extras

PYTEST = "pytest>=7"
"""What the probe runs in; the newest that the project's requirements and this Python allow."""
_MADE_FOR_VENV = "import ensurepip, venv"
_POETRY = """
import json, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from poetry.core.factory import Factory
package = Factory().create_poetry(Path(sys.argv[2])).package
lines = []
for name in sys.argv[3:]:
    lines += [one.to_pep_508() for one in package.dependency_group(name).dependencies if not one.is_directory()]
print(json.dumps(lines))
"""
"""Poetry's own library translates its constraints (`^1.2`)."""


class Built(Struct, frozen=True, kw_only=True):
    """What went into an environment."""

    sources: tuple[str, ...]
    """Where the requirements were read, in words."""
    state: str | None = None
    """Digest of the sources if parts of the project are held as they were then, because they are compiled or generated."""
    left_out: tuple[str, ...] = ()
    """What could not be had, in words."""
    installer: str


def fill(
    folder: Path, base: Answer, root: Path, needs: Needs, installer: Installer, job: Job, say: Callable[[str], None]
) -> Built:
    """Make the environment `folder` with `base` and install everything; `say` is told what is being done.

    Raises `InstallError` or OSError; the folder is then of no use.
    """
    python = str(folder / "bin" / "python")
    if installer.uv is None:
        _check_venv(base, job)
    job.run(installer.create(base.path, folder))
    pip = None if installer.uv else pip_version(python, job.environment)
    build = _Build(root, needs, installer, job, python, pip)
    if needs.installable:
        say(f"installing the project for Python {base.short}")
        build.project()
    say(f"installing what its tests need for Python {base.short}")
    sources, left_out = build.tests()
    state = build.lead_to_sources()
    return Built(
        sources=tuple(source.label for source in sources),
        left_out=left_out,
        state=state,
        installer=installer.name if pip is None else f"pip {pip}",
    )


class _Build:
    def __init__(
        self, root: Path, needs: Needs, installer: Installer, job: Job, python: str, pip: Version | None
    ) -> None:
        self.root = root
        self.needs = needs
        self.installer = installer
        self.job = job
        self.python = python
        self.pip = pip
        self.copy = job.scratch.folder.resolve() / "copy"
        self.before: set[str] = set()
        self.locals: tuple[Local, ...] = ()

    def install(self, *words: str) -> None:
        self.job.run(self.installer.install(self.python, *words, pip=self.pip))

    def project(self) -> None:
        """Install the project from a copy, editable."""
        self._copied()
        self.install("-e", str(self.copy))
        self.locals = installed_from(self.copy, self.python, self.job.environment)

    def _copied(self) -> None:
        if not self.before:
            copy(self.root, self.copy)
            self.before = {path for path, _ in files(self.copy)}

    @property
    def own(self) -> Local | None:
        """The project itself, if it was installed."""
        return next((local for local in self.locals if Path(local.folder) == self.copy), None)

    def tests(self) -> tuple[tuple[Source, ...], tuple[str, ...]]:
        """Install pytest and what the tests need; returns the sources, and what had to be left out."""
        sources = self.needs.tests(extras(self.own.extras) if self.own else ())
        try:
            self._install(sources)
        except InstallError as error:
            if error.unreachable or not sources or any(source.for_tests for source in sources):
                raise
            # Tools for development need not exist for each Python, and tests rarely need them.
            self._install(())
            labels = ", ".join(source.label for source in sources)
            return (), (f"{labels} (it could not be installed: {error.message})",)
        return sources, ()

    def _install(self, sources: Sequence[Source]) -> None:
        words = [PYTEST]
        wanted = {name for source in sources for name in source.extras}
        for source in sources:
            # Requirements of an extra come with the project, by its name; where it is not installed, one by one.
            words += source.requirements if self.own is None or not source.extras else ()
        for number, file in enumerate(dict.fromkeys(file for source in sources for file in source.files)):
            found = requirement_files.flat(Path(file), self.root, self.copy)
            wanted.update(found.own_extras)
            if any(str(self.copy) in line for line in found.lines):
                self._copied()
            flat = self.job.scratch.folder / f"requirements-{number}.txt"
            flat.write_text("\n".join(found.lines) + "\n", encoding="utf-8")
            if found.hashed:  # pip would ask for a hash of everything else too
                self.install("-r", str(flat))
            else:
                words += ["-r", str(flat)]
        groups = [source.poetry_group for source in sources if source.poetry_group]
        words += self._of_poetry(groups) if groups else []
        if self.own:
            known = sorted(wanted & set(self.own.extras))
            words.append(f"{self.own.name}[{','.join(known)}]" if known else self.own.name)
        else:
            words += self.needs.dependencies
        self.install(*words)

    def _of_poetry(self, groups: Sequence[str]) -> list[str]:
        target = self.job.scratch.folder / "poetry"
        self.install("--target", str(target), "poetry-core")
        told = subprocess.run(
            [self.python, "-I", "-c", _POETRY, str(target), str(self.root), *groups],
            env=self.job.environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
        if told.returncode != 0:
            last = (told.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise InstallError(f"poetry's groups could not be read: {last}")
        lines: list[str] = json.loads(told.stdout)
        return lines

    def lead_to_sources(self) -> str | None:
        """Make the environment lead to the project; where code is compiled or generated, install what was built.

        Returns a digest of the sources if what is imported is what was built of them.
        """
        if not self.before:
            return None
        left = generated(self.before, self.copy)
        state = None
        for local in installed_from(self.copy, self.python, self.job.environment):
            inside = str(Path(local.folder).relative_to(self.copy)).removeprefix(".")
            if not local.leads_to_sources or any(path.startswith(inside) for path in left):
                state = digest(self.root)
                if local.editable:
                    self.job.run(self.installer.reinstall(self.python, local.folder, pip=self.pip))
        for local in installed_from(self.copy, self.python, self.job.environment):
            relocate(local, self.copy, self.root)
        return state


def _check_venv(base: Answer, job: Job) -> None:
    """Raise `InstallError` where the system's Python comes without the means to make environments."""
    told = subprocess.run(
        [base.path, "-I", "-c", _MADE_FOR_VENV], env=job.environment, capture_output=True, timeout=60, check=False
    )
    if told.returncode != 0:
        raise InstallError(
            f"`{base.path}` comes without `venv` and `ensurepip`",
            f"install them (on Debian and Ubuntu the package python{base.short}-venv) or uv",
        )
