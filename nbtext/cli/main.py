"""The command `nbtext`: finds the sub-command, and turns failures into a line on standard error and an exit status."""

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

from nbtext.cli.declarations import COLOR_OPTION, HELP_ALL_KEY, LOG_FORMAT_OPTION, get_painter
from nbtext.cli.messages import clear_progress, emit, emit_error, is_json_log, set_log_format
from nbtext.errors import NbtextError, PathError, describe_os_error

if TYPE_CHECKING:
    from types import FrameType

COMMAND_GROUPS = {
    "Every day": {
        "train": "Learn classes from labelled documents.",
        "classify": "Print the class of each document and its probability.",
        "evaluate": "Measure a model on documents whose classes are known.",
        "explain": "Show what each word contributed to an answer.",
        "label": "Sort documents without labels into classes.",
        "update": "Add documents to a model.",
        "doctor": "Check the installation and the model, or a corpus.",
    },
    "Judge": {
        "tune": "Try settings of training and keep the best model.",
        "cross-validate": "Measure settings on a corpus by cross-validation.",
        "learning-curve": "Show accuracy against training size, with a forecast.",
        "compare": "Compare two models on the same documents.",
        "suspects": "Find documents of a corpus whose label may be wrong.",
        "report": "Write an evaluation as a page of HTML.",
    },
    "Understand": {
        "inspect": "Show what a model contains.",
        "select-features": "Rank terms by what they say about the class.",
        "tokens": "Show how a document becomes terms.",
        "generate": "Draw random documents from a model.",
    },
    "Change": {
        "forget": "Remove documents from a model.",
        "merge": "Add several models up to one.",
        "relabel": "Rename a class, or join two classes.",
        "prune": "Remove rare or common terms permanently.",
        "promote": "Replace a model after it passed evaluation.",
    },
    "Watch": {
        "prevalence": "Estimate how many of the documents are of each class.",
        "drift": "Show how far new documents are from those of training.",
    },
    "Get help": {
        "help": "Explain a topic or a command.",
        "completion": "Print the script for completion in a shell.",
    },
}
"""The line of each command, in the groups and the order of the help. `nbtext` alone shows the lines of the first group, and names the others."""

OLD_COMMANDS = ("why-not",)
"""Commands that go on working unseen: explain --why-not does the same."""

COMMAND_SUMMARIES = {
    name: line for commands in COMMAND_GROUPS.values() for name, line in commands.items()
}
_KNOWN = (*COMMAND_SUMMARIES, *OLD_COMMANDS)
INTERNAL_ERROR_STATUS = NbtextError.exit_status
THREADS_OF_BLAS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Variables of OpenBLAS, OpenMP, MKL and Accelerate, set before numpy is imported. Several threads round otherwise than one, so the bytes of a
`gaussian` model would depend on the machine. Threads also make numpy start later, and on a busy machine they wait for each other: two took eight times
as long as one for 60,000 x 110 numbers."""

AVX512_FEATURES = "X86_V4 AVX512_ICL AVX512_SKX AVX512_CLX AVX512_CNL"
"""AVX-512 for ``NPY_DISABLE_CPU_FEATURES``, by the names of numpy 2.4 and of older ones, which warn of names that are not theirs."""


class Commands(click.Group):
    """Sub-commands, each imported from a file of its name when it is used."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return list(COMMAND_SUMMARIES)

    def get_command(self, _: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name, or None."""
        if cmd_name not in _KNOWN:
            return None
        return import_module(f"nbtext.cli.{cmd_name.replace('-', '_')}").command

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a screen of 24 lines, or with `EVERYTHING` all commands and options; no command is imported for it."""
        paint = get_painter()
        every_day = next(iter(COMMAND_GROUPS))
        everything = HELP_ALL_KEY in ctx.meta
        width = max(map(len, COMMAND_SUMMARIES if everything else COMMAND_GROUPS))
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        for group, commands in COMMAND_GROUPS.items():
            if everything or group == every_day:
                with formatter.section(paint(group, bold=True)):
                    formatter.write_dl(
                        [
                            (paint(name.ljust(width), fg="cyan"), line)
                            for name, line in commands.items()
                        ]
                    )
        if everything:
            click.Command.format_options(self, ctx, formatter)
            return
        formatter.write_paragraph()
        with formatter.indentation():
            rest = (item for item in COMMAND_GROUPS.items() if item[0] != every_day)
            formatter.write_dl(
                [
                    (paint(group.ljust(width), bold=True), ", ".join(commands))
                    for group, commands in rest
                ]
            )
        formatter.write_paragraph()
        formatter.write_text(
            "More: nbtext COMMAND --help, nbtext help commands, nbtext help TOPIC."
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does, and suggest names that are near a mistyped one."""
        if args[0] not in _KNOWN and not args[0].startswith("-"):
            from nbtext.cli.synonyms import suggest_command

            raise click.UsageError(
                f"No such command {args[0]!r}{suggest_command(args[0], list(COMMAND_SUMMARIES))}",
                ctx,
            )
        return super().resolve_command(ctx, args)


# Click passes it.
def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001
    if wanted and not ctx.resilient_parsing:
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
    """Run the command line and end the process with the exit status of the contract."""
    os.environ.update(dict.fromkeys(THREADS_OF_BLAS, "1"))
    if not sys.warnoptions:
        with contextlib.suppress(OSError), open("/proc/cpuinfo", "rb") as processors:
            if is_zen_4(processors.read(1024)):
                os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", AVX512_FEATURES)
    status = run(sys.argv[1:])
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
    os._exit(
        status
    )  # all is flushed; freeing a hundred thousand strings would cost a tenth of a second


def is_zen_4(processor: bytes) -> bool:
    """Return whether a processor, by what Linux says of it, is of AMD's family 25, Zen 3 and 4: Zen 3 has no AVX-512, and Zen 4 sorts six times faster without.

    A number takes 4 ns in numpy's sort with AVX2 and 25 with AVX-512, whose stores of chosen lanes are slow there (numpy/x86-simd-sort, issue 6).
    """
    return b"AuthenticAMD" in processor and b"cpu family\t: 25\n" in processor


def run(arguments: list[str]) -> int:
    """Run the command line; return the exit status."""
    _prepare_streams()
    set_log_format(arguments)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # what packages tell developers
    for number in (signal.SIGTERM, signal.SIGHUP):
        if (
            signal.getsignal(number) is signal.SIG_DFL
        ):  # leave it alone where it is ignored, as under nohup
            signal.signal(number, _exit_by_signal)
    if sys.stdout is None:
        return _status_of(
            PathError("cannot write: it is closed", where="standard output"), debug=False
        )
    try:
        status = _invoke(arguments)
        sys.stdout.flush()
    except BaseException as problem:  # noqa: BLE001 - the last place that can make a line of it
        clear_progress()
        status = _status_of(problem, debug="--debug" in arguments)
        try:
            sys.stdout.flush()
        except OSError:
            _abandon_standard_output()
    return status if isinstance(status, int) else 0


def _invoke(arguments: list[str]) -> object:
    """Invoke the command; `nbtext.main` would turn a closed pipe and Ctrl-C into exits of its own."""
    if "_NBTEXT_COMPLETE" in os.environ:  # a shell asks for completions
        import_module("nbtext.cli.completion")  # which makes bash's of its own
        return nbtext.main(arguments, prog_name="nbtext")
    try:
        with nbtext.make_context("nbtext", list(arguments)) as context:
            return nbtext.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code


# A status for each kind of failure.
def _status_of(problem: BaseException, *, debug: bool) -> int:  # noqa: PLR0911
    """Say what went wrong, in one line, and return its exit status."""
    match problem:
        case (
            BrokenPipeError() | SystemExit(__context__=BrokenPipeError())
        ):  # rich makes an exit of it
            _abandon_standard_output()
            return 128 + signal.SIGPIPE
        case SystemExit():
            return problem.code if isinstance(problem.code, int) else INTERNAL_ERROR_STATUS
        case KeyboardInterrupt() | click.Abort():
            return 128 + signal.SIGINT
        case click.ClickException():
            _say_wrong_usage(problem)
            return problem.exit_code
        case NbtextError():
            emit_error(problem)
            return problem.exit_status
    if (failure := _failure_of_the_system(problem)) is not None:
        emit_error(failure)
        return failure.exit_status
    if debug:
        import traceback

        for line in "".join(traceback.format_exception(problem)).splitlines():
            emit(line, level="notice")
    emit(
        f"internal error: {type(problem).__name__}: {problem}",
        hint="please report it, with what nbtext --debug prints",
    )
    return INTERNAL_ERROR_STATUS


def _failure_of_the_system(problem: BaseException | None) -> PathError | None:
    """Return the error for what the operating system could not do; None for another kind of problem."""
    if isinstance(problem, OSError):
        return _failure_of_a_file(problem)
    if isinstance(problem, MemoryError):
        return PathError("out of memory")
    # A library cannot be loaded, as when too many files are open; numpy wraps its error in others.
    while isinstance(problem, Exception):
        if isinstance(problem, ImportError) and (problem.path or "").endswith(
            tuple(EXTENSION_SUFFIXES)
        ):
            return PathError(
                f"cannot load it: {str(problem).removeprefix(f'{problem.path}: ')}",
                where=problem.path,
            )
        problem = problem.__cause__ or problem.__context__
    return None


def _failure_of_a_file(problem: OSError) -> PathError:
    """Return the error for a file that could not be read or written; the system names none that was open already, such as standard output."""
    what = describe_os_error(problem)
    if problem.filename:
        return PathError(f"cannot use it: {what}", where=str(problem.filename))
    if _has_no_directory():
        return PathError("the working directory is gone", hint="change to one that is there")
    # Whoever writes other files says their names.
    is_output = problem.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    try:
        # What could not be written is still there, unless it was much, and cannot be written now.
        sys.stdout.flush()
    except OSError:
        is_output = True
    if is_output:
        _abandon_standard_output()
        return PathError(f"cannot write: {what}", where="standard output")
    return PathError(f"cannot read or write: {what}")


def _has_no_directory() -> bool:
    """Return True if the working directory was removed."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _say_wrong_usage(problem: click.ClickException) -> None:
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
        if instead := REMOVED_OPTIONS.get(name.lstrip("-").replace("-", "_")):
            emit(f"there is no option {name} any more", hint=instead)
            return
        near = suggest_option(name, context.command, problem.possibilities or ()) if context else ""
        message = f"No such option {name!r}{near}"
    else:
        message = problem.format_message().rstrip(".").replace("\n", " ")
    emit(message, hint=f"see {command} --help")


ANY_TEXT = "nbtext.any_text"
"""A way to treat errors of encoding: bytes that are not text pass through, as with surrogateescape, and half a character is written as its code."""


def _as_bytes_or_code(problem: UnicodeError) -> tuple[bytes, int]:
    """Return the bytes of a character that UTF-8 has not, and where to go on."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    code = ord(problem.object[problem.start])
    is_byte = 0xDC80 <= code <= 0xDCFF
    written = bytes([code - 0xDC00]) if is_byte else b"\\u%04x" % code
    return written, problem.start + 1


codecs.register_error(ANY_TEXT, _as_bytes_or_code)


def _prepare_streams() -> None:
    """Write the same bytes under every locale; names that are no text pass through."""
    for stream, newline in ((sys.stdout, "\n"), (sys.stderr, None)):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors=ANY_TEXT, newline=newline)
    if sys.stdout is not None and isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        # PYTHONUNBUFFERED: a write that takes only a part, as into a pipe that closes, would pass
        # for a whole one.
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(sys.stdout.buffer),
            "utf-8",
            ANY_TEXT,
            "\n",
            bool(sys.stdout.line_buffering),
        )


def _abandon_standard_output() -> None:
    """Keep the interpreter from flushing what cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _exit_by_signal(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
