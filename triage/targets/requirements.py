"""What a project says of its own needs: itself, what it depends on, what its tests depend on, and in which file that stands.

Only what stands there in data is read, by the libraries of the formats; what a build backend would have to compute (extras of a
`setup.py`) is asked of the installed project later.
"""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from packaging.dependency_groups import resolve_dependency_groups
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from triage.errors import UnrunnableError
from triage.targets import requirement_files

TEST_NAMES = ("test", "tests", "testing")
DEV_NAMES = ("dev", "develop", "development")
"""Taken where nothing is named after tests: such groups also hold what tests do not need."""
_FOLDERS = frozenset({".", "requirements", "tests", "test"})
METADATA_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "tox.toml", "hatch.toml", "Pipfile")


class Source(Struct, frozen=True, kw_only=True):
    """One place that names what the tests need."""

    label: str
    """In words, such as "group `test` of pyproject.toml"."""
    requirements: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Requirement files, absolute."""
    extras: tuple[str, ...] = ()
    """Extras of the project itself."""
    poetry_group: str | None = None
    """A group in poetry's own words, which poetry-core has to translate."""
    for_tests: bool = True
    """False for one that is named after development as a whole."""


class Needs(Struct, frozen=True, kw_only=True):
    """What is known of a project without building it."""

    name: str | None = None
    installable: bool = False
    """Whether a build backend is named, or there is a `setup.py`."""
    import_needs_install: bool = False
    """Whether its packages lie where `python -m pytest` in the root folder does not find them by itself (a `src` layout)."""
    requires_python: str | None = None
    dependencies: tuple[str, ...] = ()
    """As far as they stand in `pyproject.toml`."""
    sources: tuple[Source, ...] = ()
    files: tuple[str, ...] = ()
    """All files that were read or that a build backend would read first; absolute."""

    def allows(self, version: str) -> bool:
        """Whether `requires-python` lets a Python of this version (`3.12.1`) in; what cannot be read does."""
        try:
            return SpecifierSet(self.requires_python or "").contains(version, prereleases=True)
        except InvalidSpecifier:
            return True

    def tests(self, more: Iterable[Source] = ()) -> tuple[Source, ...]:
        """Return the sources to install, with `more` that became known later: those for tests, or else all of them."""
        known = [*self.sources, *more]
        chosen = [source for source in known if source.for_tests] or known
        return tuple({source.label: source for source in chosen}.values())

    def missing(self, version: str, installed: Mapping[str, str]) -> tuple[str, ...]:
        """Return what an interpreter of this version lacks of what is known, by the versions `installed` in it.

        What is named for development as a whole is left out, as are needs that only an installation could tell.
        """
        wanted = [*self.dependencies]
        for source in self.sources:
            if source.for_tests:
                wanted += source.requirements
                wanted += [line for file in source.files for line in requirement_files.plain(Path(file))]
        lacking = [text for text in dict.fromkeys(wanted) if not _satisfied(text, version, installed)]
        if self.import_needs_install and self.name and canonicalize_name(self.name) not in installed:
            lacking.insert(0, self.name)
        return tuple(lacking)


def read(root: Path) -> Needs:
    """Read what the project in `root` says; raises `UnrunnableError` for a file that cannot be read."""
    pyproject = _toml(root / "pyproject.toml")
    setup_cfg = _ini(root / "setup.cfg")
    project = table(pyproject, "project")
    poetry = table(pyproject, "tool", "poetry")
    installable = (
        "build-system" in pyproject
        or (root / "setup.py").is_file()
        or (setup_cfg is not None and setup_cfg.has_section("metadata") and not project)
    ) and not (poetry.get("package-mode") is False or table(pyproject, "tool", "uv").get("package") is False)
    sources = [
        *_groups(pyproject),
        *_extras(project),
        *_poetry_groups(poetry),
        *_other_tools(pyproject, root),
        *_requirement_files(root, installable=bool(installable or project)),
    ]
    if not any(source.for_tests for source in sources):
        sources += _tox(root, pyproject, setup_cfg)
    files = [root / name for name in METADATA_FILES]
    files += [nested for source in sources for file in source.files for nested in requirement_files.nested(Path(file))]
    python = project.get("requires-python")
    if python is None and setup_cfg is not None:
        python = setup_cfg.get("options", "python_requires", fallback=None)
    return Needs(
        name=_text(project.get("name")) or _text(poetry.get("name")),
        installable=bool(installable),
        import_needs_install=bool(installable) and (root / "src").is_dir() and not _sets_path(root, pyproject),
        requires_python=_text(python),
        dependencies=_texts(project.get("dependencies")),
        sources=tuple(sources),
        files=tuple(str(file) for file in dict.fromkeys(files) if file.is_file()),
    )


def extras(names: Iterable[str]) -> tuple[Source, ...]:
    """Return the sources among the extras that the installed project says it has."""
    return tuple(
        Source(label=f"extra `{name}`", extras=(name,), for_tests=name in TEST_NAMES)
        for name in names
        if name in TEST_NAMES or name in DEV_NAMES
    )


def _groups(pyproject: dict[str, Any]) -> Iterator[Source]:
    """PEP 735."""
    groups = table(pyproject, "dependency-groups")
    for name in groups:
        kind = _kind(name)
        if kind is None:
            continue
        try:
            lines = resolve_dependency_groups(groups, name)
        except (ValueError, LookupError, TypeError, ExceptionGroup) as error:
            raise UnrunnableError(
                f"the dependency group `{name}` of `pyproject.toml` cannot be read: {_first(error)}",
                hint="correct it, or name an environment that is complete with --python",
            ) from error
        yield Source(label=f"group `{name}` of pyproject.toml", requirements=tuple(lines), for_tests=kind)


def _first(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)


def _extras(project: dict[str, Any]) -> Iterator[Source]:
    for name, lines in table(project, "optional-dependencies").items():
        kind = _kind(name)
        if kind is not None:
            yield Source(label=f"extra `{name}`", requirements=_texts(lines), extras=(name,), for_tests=kind)


def _poetry_groups(poetry: dict[str, Any]) -> Iterator[Source]:
    names = [name for name, group in table(poetry, "group").items() if table(group, "dependencies")]
    if poetry.get("dev-dependencies"):
        names.append("dev")
    for name in dict.fromkeys(names):
        kind = _kind(name)
        if kind is not None:
            yield Source(label=f"poetry group `{name}`", poetry_group=name, for_tests=kind)


def _other_tools(pyproject: dict[str, Any], root: Path) -> Iterator[Source]:
    """Hatch's environments, PDM's and uv's development dependencies, the Pipfile."""
    environments = table(pyproject, "tool", "hatch", "envs") or table(_toml(root / "hatch.toml"), "envs")
    for name, kind in (("hatch-test", True), ("test", True), ("tests", True), ("default", False), ("dev", False)):
        environment = table(environments, name)
        lines = _texts(environment.get("dependencies")) + _texts(environment.get("extra-dependencies"))
        features = _texts(environment.get("features"))
        if lines or features:
            yield Source(label=f"hatch environment `{name}`", requirements=lines, extras=features, for_tests=kind)
    for name, lines in table(pyproject, "tool", "pdm", "dev-dependencies").items():
        kind_of_group = _kind(name)
        if kind_of_group is not None:
            plain = tuple(line for line in _texts(lines) if not line.startswith("-e"))
            yield Source(label=f"pdm group `{name}`", requirements=plain, for_tests=kind_of_group)
    if uv := _texts(table(pyproject, "tool", "uv").get("dev-dependencies")):
        yield Source(label="uv's dev-dependencies", requirements=uv, for_tests=False)
    pipfile = _toml(root / "Pipfile")
    packages = {**table(pipfile, "packages"), **table(pipfile, "dev-packages")}
    if packages:
        lines = tuple(line for name, spec in packages.items() if (line := _of_pipfile(name, spec)))
        yield Source(label="Pipfile", requirements=lines)


def _of_pipfile(name: str, spec: Any) -> str | None:
    """Return one package of a Pipfile as a requirement; None for what is no release (a path, a repository)."""
    if isinstance(spec, dict):
        version = spec.get("version", "*")
        wanted = f"[{','.join(_texts(spec.get('extras')))}]" if spec.get("extras") else ""
        marker = f"; {spec['markers']}" if spec.get("markers") else ""
        if {"path", "git", "file", "hg", "svn"} & set(spec):
            return None
        return f"{name}{wanted}{'' if version == '*' else version}{marker}"
    return name if spec == "*" else f"{name}{spec}"


def _requirement_files(root: Path, *, installable: bool) -> Iterator[Source]:
    """Find requirement files by the names that are in use; the plain one only where no metadata names dependencies."""
    found: dict[bool, list[Path]] = {True: [], False: []}
    for folder in sorted(_FOLDERS):
        for path in sorted((root / folder).glob("*.txt")):
            words = set(path.stem.lower().replace("_", "-").split("-"))
            inside = folder == "requirements"
            if not (inside or words & {"requirements", "requirement", "reqs"}):
                continue
            if words & set(TEST_NAMES) or (folder in {"tests", "test"} and path.stem == "requirements"):
                found[True].append(path)
            elif words & set(DEV_NAMES):
                found[False].append(path)
            elif not installable and path.stem in {"requirements", "base"} and folder in {".", "requirements"}:
                found[True].append(path)
    for for_tests, paths in found.items():
        for path in paths:
            yield Source(label=str(path.relative_to(root)), files=(str(path),), for_tests=for_tests)


def _tox(root: Path, pyproject: dict[str, Any], setup_cfg: configparser.ConfigParser | None) -> Iterator[Source]:
    """Read the base of tox' environments: lines that depend on nothing else of its configuration."""
    legacy = table(pyproject, "tool", "tox").get("legacy_tox_ini")
    ini, section = _ini(root / "tox.ini"), "testenv"
    if ini is None and setup_cfg is not None and setup_cfg.has_section("tox:tox"):
        ini = setup_cfg
    if ini is None and isinstance(legacy, str):
        ini = _parsed(legacy, "legacy_tox_ini")
    if ini is not None and ini.has_section(section):
        deps = ini.get(section, "deps", fallback="").splitlines()
        found = (ini.get(section, key, fallback="").split() for key in ("extras", "dependency_groups"))
        names = [word.strip(",") for words in found for word in words]
    else:
        base = table(_toml(root / "tox.toml"), "env_run_base") or table(pyproject, "tool", "tox", "env_run_base")
        deps = list(_texts(base.get("deps")))
        names = [*_texts(base.get("extras")), *_texts(base.get("dependency_groups"))]
    lines, files = [], []
    for line in (line.strip() for line in deps):
        if included := requirement_files.included(line):
            path = root / included.replace("{toxinidir}/", "")
            files += [str(path)] if path.is_file() else []
        elif _is_requirement(line):
            lines.append(line)
    groups, wanted = table(pyproject, "dependency-groups"), []
    for name in names:
        if name in groups:
            lines += resolve_dependency_groups(groups, name)
        else:
            wanted.append(name)
    if lines or files or wanted:
        yield Source(label="tox's deps", requirements=tuple(lines), files=tuple(files), extras=tuple(wanted))


def _is_requirement(line: str) -> bool:
    try:
        Requirement(line)
    except InvalidRequirement:
        return False  # an option, a factor's condition, a reference to another section
    return True


def _satisfied(text: str, version: str, installed: Mapping[str, str]) -> bool:
    """Whether a requirement holds; one that is not for this Python, or that cannot be read, does."""
    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        return True
    short = ".".join(version.split(".")[:2])
    if wanted.marker and not wanted.marker.evaluate({"python_version": short, "python_full_version": version}):
        return True
    found = installed.get(canonicalize_name(wanted.name))
    if found is None:
        return False
    return wanted.url is not None or wanted.specifier.contains(found, prereleases=True)


def _sets_path(root: Path, pyproject: dict[str, Any]) -> bool:
    """Whether pytest's own configuration puts folders on the search path."""
    if table(pyproject, "tool", "pytest", "ini_options").get("pythonpath") or table(pyproject, "tool", "pytest").get(
        "pythonpath"
    ):
        return True
    places = (("pytest.ini", "pytest"), (".pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest"))
    return any(
        ini is not None and ini.has_option(section, "pythonpath")
        for file, section in places
        if (ini := _ini(root / file)) is not None
    )


def _kind(name: str) -> bool | None:
    """Whether a name is one for tests (True), for development as a whole (False), or for something else (None)."""
    plain = canonicalize_name(name)
    if plain in TEST_NAMES or (plain.startswith("test-") and plain.removeprefix("test-") in {"deps", "dependencies"}):
        return True
    return False if plain in DEV_NAMES else None


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UnrunnableError(f"`{path.name}` cannot be read: {error}", hint="correct it, then try again") from error


def _ini(path: Path) -> configparser.ConfigParser | None:
    try:
        return _parsed(path.read_text(encoding="utf-8"), path.name)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UnrunnableError(f"`{path.name}` cannot be read: {error}", hint="correct it, then try again") from error


def _parsed(text: str, name: str) -> configparser.ConfigParser | None:
    ini = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        ini.read_string(text, name)
    except configparser.Error:
        return None  # pytest or tox will say so, if it is theirs
    return ini


def table(value: Any, *keys: str) -> dict[str, Any]:
    """Return the table that lies behind these keys, or an empty one."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
