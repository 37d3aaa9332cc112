"""The command `nbtext`: run a subcommand, and turn failures into one line and an exit status."""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import signal
import sys
import warnings
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from typing import TYPE_CHECKING, NoReturn

import click

from nbtext.cli.declarations import (
    COLOR_OPTION,
    COMPLETION_VARIABLE,
    HELP_ALL_KEY,
    LOG_FORMAT_OPTION,
    get_painter,
)
from nbtext.cli.messages import clear_progress, emit, emit_error, is_json_log, set_log_format
from nbtext.errors import NbtextError, PathError, describe_os_error

if TYPE_CHECKING:
    from types import FrameType

COMMAND_GROUPS = {
    "Every day": {
        "train": "Train a model on labelled documents.",
        "classify": "Print the class of each document and its probability.",
        "evaluate": "Evaluate a model on documents whose classes are known.",
        "explain": "Show the contribution of each word to a prediction.",
        "label": "Label documents, the most informative ones first.",
        "update": "Add documents to a model.",
        "doctor": "Check the installation and the model, or a corpus.",
    },
    "Evaluate": {
        "tune": "Try settings of training and keep the best model.",
        "cross-validate": "Evaluate settings on a corpus by cross-validation.",
        "learning-curve": "Show accuracy against training size, with a forecast.",
        "compare": "Compare two models on the same documents.",
        "split": "Divide documents into a training file and a test file.",
        "report": "Write an evaluation as a page of HTML.",
    },
    "Understand": {
        "inspect": "Show the content of a model.",
        "select-features": "Rank terms by the information they carry.",
        "tokens": "Show how a document becomes terms.",
        "suspects": "Find documents of a corpus whose label may be wrong.",
        "generate": "Draw random documents from a model.",
        "export": "Write the weights of a model as a table or SQL.",
    },
    "Change": {
        "forget": "Remove documents from a model.",
        "merge": "Add several models to one.",
        "relabel": "Rename a class, or join two classes.",
        "prune": "Remove rare or common terms permanently.",
        "promote": "Replace a model after it passed evaluation.",
    },
    "Watch": {
        "serve": "Answer requests over HTTP, and show a page.",
        "prevalence": "Estimate the proportion of each class among documents.",
        "drift": "Show how far new documents differ from training.",
    },
    "Get help": {
        "help": "Explain a topic or a command.",
        "completion": "Print the script for completion in a shell.",
    },
}
"""The summary of each command, by group, in the order of the help.

`nbtext` without arguments prints the first group with summaries, and the names of all others.
"""

OLD_COMMANDS = ("why-not",)
"""Commands that still work but are not listed. `nbtext explain --why-not` replaces ``why-not``."""

COMMAND_SUMMARIES = {
    name: summary for commands in COMMAND_GROUPS.values() for name, summary in commands.items()
}
_COMMAND_NAMES = (*COMMAND_SUMMARIES, *OLD_COMMANDS)

INTERNAL_ERROR_STATUS = NbtextError.exit_status
STANDARD_OUTPUT_DESCRIPTOR = 1

BLAS_THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Environment variables of OpenBLAS, OpenMP, MKL and Accelerate, set before numpy is imported.

With several threads the rounding, and so the bytes of a `gaussian` model, depends on the machine.
Threads also slow down the import of numpy, and on a busy machine they wait for each other.
"""

AVX512_FEATURES = "X86_V4 AVX512_ICL AVX512_SKX AVX512_CLX AVX512_CNL"
"""AVX-512 for ``NPY_DISABLE_CPU_FEATURES``, by its names in numpy 2.4 and in older versions.

numpy warns of names of other versions.
"""


class Commands(click.Group):
    """The group of all commands. A command is imported when it is used, to start quickly."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return list(COMMAND_SUMMARIES)

    def get_command(self, _: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name, or None."""
        if cmd_name not in _COMMAND_NAMES:
            return None
        return import_module(f"nbtext.cli.{cmd_name.replace('-', '_')}").command

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help without importing any command.

        The short help fits on a screen of 24 lines. With `HELP_ALL_KEY`, the help lists all
        commands and options.
        """
        shows_all = HELP_ALL_KEY in ctx.meta
        first_group, *other_groups = COMMAND_GROUPS
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        if shows_all:
            width = max(map(len, COMMAND_SUMMARIES))
            for group in COMMAND_GROUPS:
                _write_summaries(group, width, formatter)
            click.Command.format_options(self, ctx, formatter)
            return

        paint = get_painter()
        width = max(map(len, COMMAND_GROUPS))
        _write_summaries(first_group, width, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_dl(
                [
                    (paint(group.ljust(width), bold=True), ", ".join(COMMAND_GROUPS[group]))
                    for group in other_groups
                ]
            )
        formatter.write_paragraph()
        formatter.write_text(
            "More: nbtext COMMAND --help, nbtext help commands, nbtext help TOPIC."
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the command like click. The error for an unknown name suggests similar names."""
        if args[0] not in _COMMAND_NAMES and not args[0].startswith("-"):
            from nbtext.cli.synonyms import suggest_command

            raise click.UsageError(
                f"No such command {args[0]!r}{suggest_command(args[0], list(COMMAND_SUMMARIES))}",
                ctx,
            )
        return super().resolve_command(ctx, args)


def _write_summaries(group: str, width: int, formatter: click.HelpFormatter) -> None:
    """Write the section of a group. ``width`` is the width of the column of names."""
    paint = get_painter()
    with formatter.section(paint(group, bold=True)):
        formatter.write_dl(
            [
                (paint(name.ljust(width), fg="cyan"), summary)
                for name, summary in COMMAND_GROUPS[group].items()
            ]
        )


# Click passes the value by position.
def _show_version(ctx: click.Context, _: click.Parameter, is_set: bool) -> None:  # noqa: FBT001
    if is_set and not ctx.resilient_parsing:
        from nbtext.version import __version__

        click.echo(f"nbtext, version {__version__}")
        ctx.exit()


@click.command(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.option("--debug", is_flag=True, help="Show a traceback for an internal error.")
def nbtext(debug: bool) -> None:  # noqa: FBT001 - click passes it
    """Text classification: learn from labelled documents, classify others.

    \b
      nbtext train corpus/      a folder per class
      nbtext classify doc.txt   the class and its probability
    """
    del debug


nbtext.params += [COLOR_OPTION, LOG_FORMAT_OPTION]


def main() -> NoReturn:
    """Run the command line, and end the process with its exit status."""
    os.environ.update(dict.fromkeys(BLAS_THREAD_VARIABLES, "1"))
    # With Python's option -W, the user would see the warnings about `AVX512_FEATURES`.
    if not sys.warnoptions:
        with contextlib.suppress(OSError), open("/proc/cpuinfo", "rb") as processors:
            if is_zen_4(processors.read(1024)):
                os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", AVX512_FEATURES)
    status = run(sys.argv[1:])
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
    # A normal exit would free all strings one by one, which takes up to 0.1 s.
    os._exit(status)


def is_zen_4(processor: bytes) -> bool:
    """Return True if an entry of /proc/cpuinfo is of AMD's family 25 (Zen 4, or the older Zen 3).

    On Zen 4, numpy sorts about six times slower with AVX-512 than with AVX2, because compressing
    stores are slow (numpy/x86-simd-sort, issue 6). Zen 3 has no AVX-512.
    """
    return b"AuthenticAMD" in processor and b"cpu family\t: 25\n" in processor


def run(arguments: list[str]) -> int:
    """Run the command line, and return the exit status."""
    _prepare_streams()
    set_log_format(arguments)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # warnings of packages are for developers
    _handle_signals()
    if sys.stdout is None:
        output_error = PathError("cannot write: it is closed", where="standard output")
        return _report_failure(output_error, debug=False)
    try:
        status = _invoke(arguments)
        sys.stdout.flush()
    except BaseException as problem:  # noqa: BLE001 - every failure must become one line
        clear_progress()
        status = _report_failure(problem, debug="--debug" in arguments)
        try:
            sys.stdout.flush()
        except OSError:
            _abandon_standard_output()
    return status


def _handle_signals() -> None:
    """Let SIGTERM and SIGHUP raise `SystemExit`, unless they are ignored, as under nohup."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _exit_by_signal)


def _invoke(arguments: list[str]) -> int:
    """Invoke the command, and return the exit status. A command may return None for 0.

    Only completion uses `nbtext.main`, because this method handles a closed pipe and Ctrl-C itself.
    """
    if COMPLETION_VARIABLE in os.environ:  # a shell asks for completions
        import_module("nbtext.cli.completion")  # registers its own classes for the shells
        nbtext.main(arguments, prog_name="nbtext")  # raises `SystemExit`
    try:
        # click removes arguments from the list.
        with nbtext.make_context("nbtext", list(arguments)) as context:
            status = nbtext.invoke(context)
    except click.exceptions.Exit as problem:
        return problem.exit_code
    return status if isinstance(status, int) else 0


def _report_failure(problem: BaseException, *, debug: bool) -> int:  # noqa: PLR0911
    """Print one line about a failure, and return the exit status of this type of failure.

    For signals, the status is 128 plus the number of the signal, by the convention of shells.
    """
    match problem:
        # rich turns a broken pipe into an exit.
        case BrokenPipeError() | SystemExit(__context__=BrokenPipeError()):
            _abandon_standard_output()
            return 128 + signal.SIGPIPE
        case SystemExit():
            return problem.code if isinstance(problem.code, int) else INTERNAL_ERROR_STATUS
        case KeyboardInterrupt() | click.Abort():
            _report_interruption()
            return 128 + signal.SIGINT
        case click.ClickException():
            _report_wrong_usage(problem)
            return problem.exit_code
        case NbtextError():
            emit_error(problem)
            return problem.exit_status
    failure = _convert_system_error(problem)
    if failure is not None:
        emit_error(failure)
        return failure.exit_status
    if debug:
        import traceback

        for line in "".join(traceback.format_exception(problem)).splitlines():
            emit(line, level="notice")
    emit(
        f"internal error: {type(problem).__name__}: {problem}",
        hint="please report it, with the output of nbtext --debug",
    )
    return INTERNAL_ERROR_STATUS


def _report_interruption() -> None:
    """Print a line about Ctrl-C. It says that nothing was written only if this is certain."""
    from nbtext.store.atomic import has_changed_files

    # `_prepare_streams` replaced the method, and the first output restored it.
    has_output = "write" not in vars(sys.stdout)
    result = "" if has_output or has_changed_files() else "; nothing was written"
    emit(f"interrupted{result}")


def _convert_system_error(problem: BaseException | None) -> PathError | None:
    """Return a `PathError` for a failure of the operating system, and None for other problems."""
    if isinstance(problem, OSError):
        return _convert_file_error(problem)
    if isinstance(problem, MemoryError):
        return PathError("out of memory")
    # A library may fail to load, for example with too many open files. numpy raises its own error
    # from the `ImportError`.
    while isinstance(problem, Exception):
        if isinstance(problem, ImportError) and _is_extension(problem.path):
            message = str(problem).removeprefix(f"{problem.path}: ")
            return PathError(f"cannot load it: {message}", where=problem.path)
        problem = problem.__cause__ or problem.__context__
    return None


def _is_extension(path: str | None) -> bool:
    """Return True for the path of a compiled module."""
    return path is not None and path.endswith(tuple(EXTENSION_SUFFIXES))


def _convert_file_error(problem: OSError) -> PathError:
    """Return a `PathError` for a file that could not be read or written.

    The error of an open file, such as standard output, does not contain its name.
    """
    description = describe_os_error(problem)
    if problem.filename:
        return PathError(f"cannot use it: {description}", where=str(problem.filename))
    if _has_no_directory():
        return PathError("the working directory does not exist", hint="change to an existing one")
    # For other files than standard output, nbtext adds the name to errors of writing.
    is_output = problem.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    try:
        # After a failure, the output is usually still in the buffer, and the flush fails, too.
        sys.stdout.flush()
    except OSError:
        is_output = True
    if is_output:
        _abandon_standard_output()
        return PathError(f"cannot write: {description}", where="standard output")
    return PathError(f"cannot read or write: {description}")


def _has_no_directory() -> bool:
    """Return True if the working directory was removed."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _report_wrong_usage(problem: click.ClickException) -> None:
    """Print an error of click, with a hint that names the help of the command."""
    context = getattr(problem, "ctx", None)
    command = context.command_path if context else "nbtext"
    if isinstance(problem, click.exceptions.NoArgsIsHelpError):
        if not is_json_log():
            problem.show()
            return
        message = "no command is given"
    elif isinstance(problem, click.NoSuchOption):
        from nbtext.cli.synonyms import suggest_option
        from nbtext.settings import REMOVED_OPTIONS

        name = problem.option_name
        replacement = REMOVED_OPTIONS.get(name.lstrip("-").replace("-", "_"))
        if replacement:
            emit(f"the option {name} was removed", hint=replacement)
            return
        message = f"No such option {name!r}"
        if context:
            message += suggest_option(name, context.command, problem.possibilities or ())
    else:
        message = problem.format_message().rstrip(".").replace("\n", " ")
    emit(message, hint=f"see {command} --help")


ENCODING_ERROR_HANDLER = "nbtext.any_text"
"""Name of a handler of encoding errors, for output that is not valid text.

Python decodes the invalid bytes of file names to surrogates (PEP 383). The handler writes these
bytes again. It writes other lone surrogates as ``\\uXXXX``.
"""

ESCAPED_BYTE_OFFSET = 0xDC00
"""An invalid byte b, which is at least 0x80, is decoded to the surrogate with this code plus b."""


def _encode_surrogate(problem: UnicodeError) -> tuple[bytes, int]:
    """Return the bytes for a character that UTF-8 cannot encode, and the next position."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    code = ord(problem.object[problem.start])
    byte = code - ESCAPED_BYTE_OFFSET
    encoded = bytes([byte]) if 0x80 <= byte <= 0xFF else b"\\u%04x" % code
    return encoded, problem.start + 1


codecs.register_error(ENCODING_ERROR_HANDLER, _encode_surrogate)


def _prepare_streams() -> None:
    """Make the encoding of output independent of the locale, and write any file name."""
    for stream, newline in ((sys.stdout, "\n"), (sys.stderr, None)):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors=ENCODING_ERROR_HANDLER, newline=newline)
    if sys.stdout is not None and isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        # With PYTHONUNBUFFERED a partial write, as into a closing pipe, would count as complete.
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(sys.stdout.buffer),
            encoding="utf-8",
            errors=ENCODING_ERROR_HANDLER,
            newline="\n",
            line_buffering=bool(sys.stdout.line_buffering),
        )
    if sys.stdout is not None:
        _note_first_output()


def _note_first_output() -> None:
    """Replace the method ``write`` of standard output until the first output."""
    attributes = vars(sys.stdout)
    attributes.pop("write", None)  # of an earlier command of this process
    write = sys.stdout.write

    def write_first(text: str) -> int:
        attributes.pop("write", None)
        return write(text)

    attributes["write"] = write_first


def _abandon_standard_output() -> None:
    """Redirect standard output to /dev/null, so that later flushes of the buffer succeed."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), STANDARD_OUTPUT_DESCRIPTOR)


def _exit_by_signal(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
