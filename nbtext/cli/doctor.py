"""`nbtext doctor`: check the installation and the model, or a corpus."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from nbtext.cli import declarations, shared_options
from nbtext.cli.parameters import ExplicitSettings, parameter_field, parameters_field
from nbtext.errors import NbtextError
from nbtext.settings import WHERE, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.errors import Finding


@declarations.option_record
class DoctorOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    corpus: tuple[str, ...] = shared_options.corpus_field()
    output: str = shared_options.output_field("table tsv csv json jsonl")
    reading: ExplicitSettings[Reading] = parameters_field(Reading, shows_defaults=False)
    language: str | None = parameter_field(shared_options.LANGUAGE_PARAMETER, is_listed_last=True)
    where: str | None = parameter_field(WHERE, is_listed_last=True)


@declarations.command("doctor")
def command(options: DoctorOptions) -> None:
    """Check the installation and the model, or with CORPUS a corpus, and advise on each problem.

    A corpus is read as training would read it. The output has the warnings of training, and
    warnings about repeated texts, texts with several labels, classes of fewer than 5 documents,
    mail or HTML read as text, and documents in another language than --language.

    Without CORPUS, the command checks versions, optional packages, the model file, its folder and
    its lock. The command changes nothing.

    The exit status is the status that the first problem causes in other commands: 3 for the model,
    4 for its folder, 5 for its lock. The status is 0 if there are only warnings. A missing model is
    only a warning, unless --model or $NBTEXT_MODEL names the model.

    \b
    Examples:
      nbtext doctor
      nbtext doctor --model nbtext.joblib --output json
      nbtext doctor messages.csv --label-column topic --text-column body
    """
    try:  # any import, here or in the checks, may miss a package
        from nbtext.report.models import print_findings
        from nbtext.report.output_formats import write_result

        problem = None
        if options.corpus:
            record, findings = _check_corpus(options)
        else:
            record, findings, problem = _check_installation(options.model_path)
        if options.output == "table":
            print_findings(findings)
        else:
            write_result(options.output, record, findings)
    except ModuleNotFoundError as error:
        name = (error.name or str(error)).partition(".")[0]
        raise NbtextError(
            f"the package {name} cannot be imported", hint="install it with pip install nbtext"
        ) from None
    if problem is not None:
        sys.stdout.flush()  # the error message is printed after the findings
        raise problem


def _check_corpus(options: DoctorOptions) -> tuple[dict[str, object], Sequence[Finding]]:
    """Return the record for JSON, and the findings about the corpus."""
    from nbtext.cli.config import find_folder_of_paths
    from nbtext.inspection.corpora import inspect_corpus

    overview, findings = inspect_corpus(
        options.corpus,
        options.reading.complete_settings,
        options.language or "english",
        condition=options.where,
        allowed_folder=find_folder_of_paths(),
    )
    return {"corpus": overview, "checks": findings}, findings


def _check_installation(
    model_path: str,
) -> tuple[dict[str, object], Sequence[Finding], NbtextError | None]:
    """Return the record for JSON, the findings, and the first problem that stops commands, if any."""
    from nbtext.inspection.health import FailedCheck, check_installation, get_installed_versions

    is_default = not os.environ.get("NBTEXT_MODEL") and model_path == shared_options.DEFAULT_MODEL
    findings = list(check_installation(model_path, path_is_explicit=not is_default))
    problems = (finding.problem for finding in findings if isinstance(finding, FailedCheck))
    problem = next(problems, None)
    record = {
        "exit_status": 0 if problem is None else problem.exit_status,
        "versions": get_installed_versions(),
        "checks": findings,
    }
    return record, findings, problem
