"""`nbtext serve`: answer requests over HTTP, and show a page to correct labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.config import Address, OutputPath
from nbtext.cli.parameters import INPUT_PATH
from nbtext.cli.prediction import ClassifyPredictionOptions, build_rules_with_guarantees
from nbtext.cli.shared_options import DocumentOptions, WholeNumber
from nbtext.errors import UsageError
from nbtext.settings import check_size, parse_size

if TYPE_CHECKING:
    import socket

    from nbtext.model import TextClassifier
    from nbtext.serve.application import Application
    from nbtext.serve.listening import UnixSocketFile
    from nbtext.serve.requests import Guard
    from nbtext.serve.served_model import ServedModel
    from nbtext.serve.watching import ModelInUse

LOCAL_HOST = "127.0.0.1"
CORRECTIONS_START = rb'\{"id": "([^"\\]|\\.)*", "text": '


class Size(click.types.StringParamType):
    """Type of an option: a number of bytes, or a number with K, M or G."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the bytes. Raise `click.UsageError` for other values."""
        try:
            return parse_size(check_size(value))
        except ValueError as problem:
            raise declarations.wrong_value_error(
                str(problem), repr(str(value)), param, ctx
            ) from None


@declarations.option_record
class RequestOptions(DocumentOptions):
    """How the documents of requests are read, without a corpus."""

    corpus: tuple[str, ...] = ()
    files_from: str | None = None
    null: bool = False
    where: str | None = None
    on_error: str | None = None
    allow_unreadable: str | None = None
    paths: tuple[str, ...] = ("-",)


@declarations.option_record
class ServeOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    socket: str | None = declarations.common_option(
        "--socket",
        "Listen on a Unix socket, which only its owner can use (permissions 600).",
        group="process",
        metavar="PATH",
        type=OutputPath(b""),
    )
    port: int | None = declarations.common_option(
        "--port",
        "Listen on a port of this machine; 0: any free port.",
        group="process",
        type=WholeNumber(0, 65535),
    )
    listen: str = declarations.option(
        "--listen",
        "Listen on another address, such as 0.0.0.0. Other machines need --token-file.",
        group="process",
        metavar="HOST",
        type=Address(),
        default=LOCAL_HOST,
    )
    token_file: str | None = declarations.option(
        "--token-file",
        "Answer only requests with the token in FILE, as Authorization: Bearer TOKEN. A browser "
        "needs it as the password.",
        group="process",
        type=INPUT_PATH,
    )
    corrections: str | None = declarations.common_option(
        "--corrections",
        "Append the labels that users correct to FILE, which nbtext update reads.",
        group="output",
        type=OutputPath(CORRECTIONS_START),
    )
    learn: bool = declarations.common_option(
        "--learn",
        "Also learn corrections at once, as update --quick does. The model file is written every "
        "30 seconds and at the end.",
        group="model",
    )
    limit: int | None = shared_options.limit_field(
        "Return the N most probable classes of each document.", old_names=""
    )
    scores: bool = declarations.option(
        "--scores",
        "Return scores and log odds of the classes, in nats.",
        group="prediction",
    )
    max_size: int = declarations.option(
        "--max-size",
        "Refuse requests with a body of more than SIZE: bytes, or a number with K, M or G.",
        group="process",
        type=Size(),
        default="64M",
    )
    timeout: int = declarations.option(
        "--timeout",
        "Refuse requests that take longer than N seconds to arrive.",
        group="process",
        type=WholeNumber(1),
        default=30,
    )
    max_requests: int = declarations.option(
        "--max-requests",
        "Answer at most N requests at the same time; others get the status 429.",
        group="process",
        type=WholeNumber(1, 1000),
        default=64,
    )


@declarations.command("serve")
def command(
    options: ServeOptions, requests: RequestOptions, prediction: ClassifyPredictionOptions
) -> None:
    """Keep a model in memory, and answer requests over HTTP.

    The service needs the package waitress: pip install 'nbtext[serve]'. It listens on --socket, on
    --port, or on the sockets that systemd passes (LISTEN_FDS). A request has a text, an object or a
    list of JSON, or lines of JSON, by its Content-Type:

    \b
      POST /classify  like classify --output jsonl
      POST /explain   like explain --output jsonl
      POST /filter    like classify --mail-filter
      POST /correct   store a document with its label
      GET /           a page to classify and correct
      GET /model      the model and its classes
      GET /health     200 while the service runs

    If a message cannot be classified, /filter returns it as classify --mail-filter does. Errors are
    an object with the key error. When the model file is replaced, later requests use the new model;
    if the new one is damaged, the old one stays. SIGTERM ends the service after the requests that
    have begun.

    Each correction is on the disk before it is confirmed. Without --learn, the model does not
    change. Each request is a line on standard error, without its text.

    \b
    Examples:
      nbtext serve --socket nbtext.sock
      nbtext serve --port 8080 --corrections corrections.jsonl
    """
    from nbtext.serve.requests import Guard, read_token

    try:
        from nbtext.serve import listening
    except ModuleNotFoundError as problem:
        if str(problem.name).partition(".")[0] != "waitress":
            raise
        raise UsageError(
            "the package waitress is missing", hint="install it: pip install 'nbtext[serve]'"
        ) from None

    _check_options(options)
    token = None if options.token_file is None else read_token(options.token_file)
    model_in_use = _load_model(options, requests, prediction)
    application = _make_application(options, model_in_use, Guard(token))
    sockets, socket_file = _open_sockets(options, has_token=token is not None)
    limits = listening.Limits(options.max_size, options.timeout, options.max_requests)

    def start() -> None:
        model_in_use.start()
        for listener in sockets:
            messages.log_line(f"listening on {listening.format_address(listener)}")

    def remove_socket_file() -> None:
        if socket_file is not None:
            socket_file.remove()

    try:
        listening.serve_until_signal(
            sockets, application, limits, on_start=start, on_stop=remove_socket_file
        )
    finally:
        remove_socket_file()
        model_in_use.stop()
    messages.log_line("stopped")


def _check_options(options: ServeOptions) -> None:
    """Raise `UsageError` for options that do not fit together."""
    if options.socket is not None and options.port is not None:
        raise UsageError("--socket and --port exclude each other", hint="start a service for each")
    if options.listen != LOCAL_HOST and options.port is None:
        raise UsageError("--listen needs --port")
    if options.learn and options.corrections is None:
        raise UsageError("--learn needs --corrections")


def _load_model(
    options: ServeOptions, requests: RequestOptions, prediction: ClassifyPredictionOptions
) -> ModelInUse:
    """Return the model, with the options of predictions, and check that it can learn."""
    from nbtext.serve.watching import ModelInUse, require_learning

    def build(model: TextClassifier) -> ServedModel:
        return _build_served_model(model, options, requests, prediction)

    model_in_use = ModelInUse(options.model_path, build, messages.log_line)
    if options.learn:
        require_learning(model_in_use.served.model)
    return model_in_use


def _build_served_model(
    model: TextClassifier,
    options: ServeOptions,
    requests: RequestOptions,
    prediction: ClassifyPredictionOptions,
) -> ServedModel:
    """Return a model with the options of predictions."""
    from nbtext.report.predictions import PredictionWriter
    from nbtext.serve.served_model import ServedModel, choose_served_message_reading

    messages.set_model(model.fitted.fingerprint)
    rule, set_rule = build_rules_with_guarantees(prediction, model)
    n_classes = len(model.classes)
    top_k = n_classes if options.scores else 0
    if options.limit is not None:
        top_k = min(options.limit, n_classes)
    writer = PredictionWriter(
        "jsonl",
        top_k=top_k,
        show_costs=rule.costs is not None,
        show_scores=options.scores,
        coverage=prediction.coverage,
        posterior_type=model.fitted.posterior_type,
    )
    adjust_prior: Any = iter
    if prediction.prior_from:
        from nbtext.cli.proportions import make_prior_adjustment

        adjust_prior = make_prior_adjustment(model, requests, prediction.prior_from, jobs=1)
    # A compressed body must not unpack to more than a body may have.
    given_settings = {"max_unpacked_size": str(options.max_size), **requests.reading.values}
    return ServedModel(
        model,
        rule,
        set_rule,
        prediction.min_typicality,
        adjust_prior,
        writer,
        given_settings,
        choose_served_message_reading(model.reading, given_settings),
    )


def _make_application(options: ServeOptions, model_in_use: ModelInUse, guard: Guard) -> Application:
    """Return the application, with the file of corrections."""
    from nbtext.serve.application import Application
    from nbtext.serve.corrections import CorrectionFile

    corrections = None
    if options.corrections is not None:
        corrections = CorrectionFile(options.corrections)
    return Application(
        model_in_use,
        guard,
        messages.log_line,
        max_requests=options.max_requests,
        corrections=corrections,
        learns=options.learn,
    )


def _open_sockets(
    options: ServeOptions, *, has_token: bool
) -> tuple[list[socket.socket], UnixSocketFile | None]:
    """Return the sockets to listen on, and the file of a Unix socket.

    Raise `UsageError` without any socket, or if other machines could connect without a token.
    """
    from nbtext.serve import listening

    if options.socket is not None:
        listener, socket_file = listening.UnixSocketFile.create(options.socket)
        return [listener], socket_file
    if options.port is not None:
        sockets = [listening.open_tcp_socket(options.listen, options.port)]
    else:
        sockets = listening.take_activated_sockets()
    if not sockets:
        raise UsageError("serve needs --socket PATH or --port N")
    if not has_token and not all(map(listening.is_local, sockets)):
        for listener in sockets:
            listener.close()
        raise UsageError("an address of other machines needs --token-file")
    return sockets, None
