"""Package layout: the allowed import order, and rules that apply to every package."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[1]
FILES = sorted((REPOSITORY / "nbtext").rglob("*.py"))
LAYERS = (
    ("type_names", "version", "fast_dataclasses", "traits"),
    ("errors", "ragged", "progress", "strict_json"),
    ("prediction",),
    ("charsets",),
    ("settings",),
    ("document_fields",),
    ("compatibility",),
    ("parallel",),
    ("corpus",),
    ("text",),
    ("counts",),
    ("language_model",),
    ("classifiers",),
    ("selection",),
    ("metrics",),
    ("store",),
    ("fitted_model",),
    ("scoring",),
    ("explain",),
    ("model",),
    ("inspection",),
    ("guarantees",),
    ("evaluation",),
    ("labelling",),
    ("report",),
    ("serve",),
    ("cli",),
    ("__main__",),
)
"""From the lowest layer up: a package imports only from lower layers, or from within itself."""

LAYER_OF = {package: layer for layer, packages in enumerate(LAYERS) for package in packages}


class Import(NamedTuple):
    """What a module imports, and whether only for its types."""

    module: str
    for_types: bool


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")


NAMES = {name_of(path) for path in FILES}


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> list[Import]:
    """All imports of nbtext's own modules, at the top or inside functions."""
    tree = parsed(path)
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        found += [
            Import(module, id(node) in for_types)
            for module in modules
            if module.partition(".")[0] == "nbtext"
        ]
    return found


def package_of(module: str) -> str:
    """Return the package of a module; "" for `nbtext` itself and for what it defines."""
    second = module.split(".")[1] if "." in module else ""
    return "" if second in ("", "TextClassifier") else second


def test_package_imports_only_packages_below() -> None:
    for path in FILES:
        own = package_of(name_of(path))
        if own:
            upwards = [
                found.module
                for found in imports(path)
                if package_of(found.module) and LAYER_OF[package_of(found.module)] > LAYER_OF[own]
            ]
            beside = [
                found.module
                for found in imports(path)
                if package_of(found.module) != own
                and LAYER_OF.get(package_of(found.module)) == LAYER_OF[own]
            ]
            assert upwards == [], path
            assert [module for module in beside if package_of(module) != "errors"] == [], path


def test_every_module_is_in_a_known_package() -> None:
    assert {package_of(name_of(path)) for path in FILES} - {""} <= set(LAYER_OF)


def test_report_imports_the_model_only_for_types() -> None:
    for path in [path for path in FILES if package_of(name_of(path)) == "report"]:
        assert [
            found.module
            for found in imports(path)
            if package_of(found.module) == "model" and not found.for_types
        ] == [], path


def test_store_imports_only_basic_packages() -> None:
    for path in [path for path in FILES if package_of(name_of(path)) == "store"]:
        assert {package_of(found.module) for found in imports(path)} <= {
            "store",
            "errors",
            "ragged",
            "fast_dataclasses",
            "strict_json",
            "type_names",
        }, path


def test_type_names_are_imported_only_for_annotations() -> None:
    for path in FILES:
        assert [
            found
            for found in imports(path)
            if package_of(found.module) == "type_names" and not found.for_types
        ] == [], path


def test_no_module_is_in_an_import_cycle() -> None:
    """Imports for types count too: of two modules that name each other's types neither can be read first."""
    graph = {name_of(file): {target(found.module) for found in imports(file)} for file in FILES}
    for start, imported in graph.items():
        seen: set[str] = set()
        pending = imported - {start}
        while pending:
            module = pending.pop()
            seen.add(module)
            pending |= graph[module] - seen
        assert start not in seen


def target(module: str) -> str:
    """The module in which an imported name is found."""
    return module if module in NAMES else module.rpartition(".")[0]


def test_every_module_has_a_docstring_and_a_specific_name() -> None:
    for path in FILES:
        assert ast.get_docstring(parsed(path)), path
        assert not re.search("util|helper|common|misc", path.stem), path


def test_only_the_command_line_prints_and_exits() -> None:
    for path in [path for path in FILES if package_of(name_of(path)) not in ("cli", "__main__")]:
        forbidden = {
            "print",
            "exit",
            "quit",
            "input",
            "sys.exit",
            "os._exit",
            "sys.stderr.write",
            "SystemExit",
        }
        if package_of(name_of(path)) != "report":  # whose business the screen is
            forbidden.add("sys.stdout.write")
        calls = [
            ast.unparse(node.func) for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)
        ]
        assert [call for call in calls if call in forbidden] == [], path


def test_no_file_contains_a_path_of_one_machine() -> None:
    places = re.compile(r"(?<![\w.])/(?:home|work|Users|root|tmp|mnt|opt|var)/\w")
    suffixes = {".py", ".md", ".toml", ".txt", ".cfg", ".yml", ".yaml", ""}
    folders = ("nbtext", "tests", "docs", "bench", "corpora")
    files = [
        *REPOSITORY.glob("*.*"),
        REPOSITORY / "Makefile",
        *(path for folder in folders for path in (REPOSITORY / folder).rglob("*")),
    ]
    found = {
        str(path.relative_to(REPOSITORY)): match.group()
        for path in files
        if path.is_file()
        and path.suffix in suffixes
        and path not in {Path(__file__), REPOSITORY / ".git"}  # in a worktree git's file is a path
        if (match := places.search(path.read_text(encoding="utf-8", errors="replace")))
    }
    assert found == {}


def test_no_two_files_share_a_name() -> None:
    """Except for commands: their files are named after them."""
    stems = Counter(
        path.stem for path in FILES if not path.stem.startswith("__") and path.parent.name != "cli"
    )
    assert [stem for stem, number in stems.items() if number > 1] == []


def test_public_name_is_defined_once() -> None:
    """But for what all commands, or all formats, have: these are found by their module."""
    defined = Counter(
        node.name
        for path in FILES
        for node in parsed(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, number in defined.items() if number > 1} - {"command"} == set()


def test_no_package_is_too_large() -> None:
    """But for the commands, of which each is a file."""
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    packages = {package_of(name_of(path)) for path in FILES} - {""}
    for name in packages:
        inside = [path for path in FILES if package_of(name_of(path)) == name]
        assert sum(lines[path] for path in inside) <= 0.15 * sum(lines.values()), name
        assert len([path for path in inside if path.parent.name == name]) <= 15 or name == "cli", (
            name
        )


def test_every_module_has_a_test_file() -> None:
    """``tests/test_PACKAGE_MODULE.py``, ``tests/test_PACKAGE_MODULE_ASPECT.py``, or one whose docstring names ``PACKAGE/MODULE.py`` in backquotes."""
    modules = {
        str(path.relative_to(REPOSITORY / "nbtext"))
        for path in FILES
        if path.stem not in ("__init__", "__main__")
    }
    tests = [path for path in (REPOSITORY / "tests").glob("test_*.py") if path != Path(__file__)]
    docstrings = "".join(ast.get_docstring(parsed(path)) or "" for path in tests)
    named = {
        name
        for name in re.findall(r"`([a-z_/]+\.py)`", docstrings)
        if name.removesuffix(".py").partition("/")[0] in LAYER_OF
    }
    assert named <= modules, "a test file names a module that there is not"
    tested = {
        module
        for module in modules
        if any(
            f"{path.stem}_".startswith(f"test_{module[:-3].replace('/', '_')}_") for path in tests
        )
    }
    assert modules - tested - named == set()
