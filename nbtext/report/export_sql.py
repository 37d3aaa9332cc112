"""Write a model as SQL: tables of its numbers, and views that predict the labels of documents.

The SQL is for SQLite from version 3.35, which has ``EXP``, ``LN``, ``SQRT`` and window functions.
The views repeat the formulas of `nbtext.model.weights`, `nbtext.classifiers.complement`,
`nbtext.prediction.calibration`, `nbtext.prediction.label_calibration` and
`nbtext.prediction.rule.maximize_expected_f1`.
"""

from __future__ import annotations

from math import isfinite, log
from typing import TYPE_CHECKING

import numpy as np

from nbtext.classifiers.complement import ORDER_DIVISOR, ComplementNaiveBayes
from nbtext.compatibility import SQL_EXPORT, require_compatible_settings
from nbtext.errors import UsageError
from nbtext.prediction.calibration import MAX_ABS_LOG
from nbtext.prediction.label_calibration import LabelCalibration
from nbtext.prediction.rule import F1_ROUNDING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.model.weights import TermWeights

MAX_QUADRATURE_NODES = 40
"""Nodes of the integral of the expected F1, which is exact for at most as many labels."""

START = """\
-- Weights of an nbtext model, and views that predict labels with them, for SQLite 3.35 or later.
-- Other databases call the functions MIN and MAX of two numbers LEAST and GREATEST.
--
-- Load this file, and the tokens of documents by the same model:
--   sqlite3 texts.db < model.sql
--   nbtext tokens FILES -o csv > tokens.csv
--   sqlite3 texts.db ".import --csv tokens.csv tokens"
-- Count the tokens in the database:
--   INSERT INTO documents (document, term, count)
--   SELECT tokens.id, COALESCE(terms.term, ''), COUNT(terms.term)
--   FROM tokens LEFT JOIN terms ON tokens.dropped = ''
--     AND terms.term_id = CAST(NULLIF(tokens.term_id, '') AS INTEGER)
--   GROUP BY tokens.id, COALESCE(terms.term, '');
-- Insert documents without tokens, and the features of documents with counts such as svmlight:
--   INSERT INTO documents VALUES ('empty.txt', '', 0), ('a', 'feature', 3);
-- Then:
--   SELECT document, label, probability FROM predictions;
-- The views probabilities and scores have all labels. Terms that are not in the model are ignored.

BEGIN;
CREATE TABLE IF NOT EXISTS documents
  (document TEXT NOT NULL, term TEXT NOT NULL, count INTEGER NOT NULL);
CREATE TABLE biases
  (class TEXT PRIMARY KEY, bias DOUBLE PRECISION NOT NULL);
CREATE TABLE weights
  (term TEXT NOT NULL, class TEXT NOT NULL, probability DOUBLE PRECISION NOT NULL,
   weight DOUBLE PRECISION NOT NULL, term_id INTEGER NOT NULL, idf DOUBLE PRECISION,
   PRIMARY KEY (term, class));
CREATE TABLE label_calibration
  (class TEXT PRIMARY KEY, slope DOUBLE PRECISION NOT NULL, shift DOUBLE PRECISION NOT NULL,
   prior DOUBLE PRECISION NOT NULL);
"""

FEATURES = {
    "counts": "SELECT document, term, n AS x FROM known",
    "binary": "SELECT document, term, 1.0 AS x FROM known",
    "log": "SELECT document, term, LN(1.0 + n) AS x FROM known",
    "tfidf": """\
    SELECT document, term, x / SQRT(squared_length) AS x
    FROM (
      SELECT document, term, x, SUM(x * x) OVER (PARTITION BY document) AS squared_length
      FROM (SELECT document, term, LN(1.0 + n) * idf AS x FROM known) AS logs
    ) AS lengths
    WHERE squared_length > 0""",
}
"""The query of the features x of documents, by the weighting."""

SCORES = """\
CREATE TABLE terms AS SELECT DISTINCT term, term_id, idf FROM weights;
CREATE UNIQUE INDEX terms_by_name ON terms (term);
CREATE VIEW scores AS
WITH
  known AS (
    SELECT document, documents.term, idf, SUM(count) AS n
    FROM documents JOIN terms ON terms.term = documents.term
    WHERE count > 0
    GROUP BY document, documents.term, idf
  ),
  features AS (
    {features}
  ),
  sums AS (
    SELECT document, class, SUM(x * weight) AS total
    FROM features JOIN weights ON weights.term = features.term
    GROUP BY document, class
  ),
  sizes AS (SELECT document, SUM(n) AS tokens FROM known GROUP BY document),
  names AS (SELECT DISTINCT document FROM documents)
SELECT names.document, biases.class AS label, bias + COALESCE(total, 0.0) AS score,
  COALESCE(tokens, 0) AS tokens
FROM names CROSS JOIN biases
  LEFT JOIN sums ON sums.document = names.document AND sums.class = biases.class
  LEFT JOIN sizes ON sizes.document = names.document;
"""
"""A document also has a score for each class if it has no known terms."""

TEMPERATURE = """\
CASE WHEN tokens = 0 THEN 1.0
      ELSE EXP(MIN({max_log}, MAX(-{max_log}, {log_scale!r} + {exponent!r} * LN(tokens)))) END"""

LOG_SCORES = "SELECT * FROM scores"

COMPLEMENT_LOG_SCORES = """\
    SELECT document, label, tokens, x / {order_divisor} + CASE
      WHEN p > {threshold!r} THEN LN(p)
      ELSE LN({threshold!r}) + (p - {threshold!r}) / {threshold!r} END AS score
    FROM (
      SELECT document, label, tokens, x,
        1.0 - ({n_classes} - 1) * outside / SUM(outside) OVER (PARTITION BY document) AS p
      FROM (
        SELECT document, label, tokens, x,
          EXP(MAX(-700, MIN(x) OVER (PARTITION BY document) - x)) AS outside
        FROM (
          SELECT document, label, tokens,
            (score - MAX(score) OVER (PARTITION BY document)) / ({size}) AS x
          FROM scores
        ) AS differences
      ) AS powers
    ) AS proportions"""
"""The steps of `nbtext.classifiers.complement.log_proportions`."""

CLASS_VIEWS = """\
CREATE VIEW probabilities AS
WITH
  log_scores AS (
    {log_scores}
  ),
  scaled AS (
    SELECT document, label, score / {temperature} AS z
    FROM log_scores
  ),
  odds AS (
    SELECT document, label, EXP(MAX(-700, z - MAX(z) OVER (PARTITION BY document))) AS odds
    FROM scaled
  )
SELECT document, label, odds / SUM(odds) OVER (PARTITION BY document) AS probability
FROM odds;
CREATE VIEW predictions AS
SELECT document, label, probability
FROM (
  SELECT document, label, probability,
    ROW_NUMBER() OVER (PARTITION BY document ORDER BY probability DESC, label) AS place
  FROM probabilities
) AS ranked
WHERE place = 1;
COMMIT;
"""

LABEL_VIEWS = """\
CREATE VIEW probabilities AS
WITH
  evidence AS (
    SELECT document, label, tokens, prior,
      shift + (score - prior) * slope / {temperature} AS z
    FROM scores JOIN label_calibration ON class = label
  ),
  odds AS (
    SELECT document, label, tokens, prior, z,
      EXP({level!r} + MIN({max_log}, MAX(-{max_log}, z))) AS odds
    FROM evidence
  ),
  rivals AS (
    SELECT document, label, tokens, prior, z,
      MAX(0, SUM(odds) OVER (PARTITION BY document) - odds) AS rival_odds
    FROM odds
  ),
  calibrated AS (
    SELECT document, label,
      CASE WHEN tokens = 0 THEN prior ELSE z - {rivalry!r} * LN(1.0 + rival_odds) END AS log_odds
    FROM rivals
  )
SELECT document, label, 1.0 / (1.0 + EXP(MIN(700, -log_odds))) AS probability
FROM calibrated;
CREATE VIEW predictions AS
WITH
  nodes (t, node_weight) AS (VALUES {nodes}),
  ranked AS (
    SELECT document, label, probability AS p,
      ROW_NUMBER() OVER (PARTITION BY document ORDER BY probability DESC, label) AS place
    FROM probabilities
  ),
  factors AS (
    SELECT document, place, t, node_weight, p, 1.0 - p * (1.0 - t) AS factor
    FROM ranked CROSS JOIN nodes
  ),
  products AS (
    SELECT document, place, node_weight,
      place * LN(t) + SUM(LN(factor)) OVER (PARTITION BY document, t) AS log_product,
      SUM(p / factor) OVER (PARTITION BY document, t ORDER BY place) AS quotients
    FROM factors
  ),
  expected AS (
    SELECT document, place, SUM(node_weight * quotients * EXP(MAX(-700, log_product))) AS f1
    FROM products GROUP BY document, place
  ),
  best AS (
    SELECT document, place AS size, f1,
      ROW_NUMBER() OVER (PARTITION BY document ORDER BY f1 DESC, place) AS choice
    FROM expected
  ),
  no_label AS (
    SELECT document, SUM(CASE WHEN p < 1 THEN LN(1.0 - p) ELSE -700 END) AS log_p
    FROM ranked GROUP BY document
  )
SELECT ranked.document, label, p AS probability
FROM ranked
  JOIN best ON best.document = ranked.document AND choice = 1 AND ranked.place <= size
  JOIN no_label ON no_label.document = ranked.document
WHERE f1 >= EXP(MAX(-700, log_p)) - {f1_rounding};
COMMIT;
"""
"""The predicted labels are the set of greatest expected F1, one row for each label."""


def iter_sql(weights: TermWeights) -> Iterator[str]:
    """Yield the statements. Raise `UsageError` if SQL cannot express the model."""
    model = weights.model
    require_compatible_settings(model.settings, SQL_EXPORT)
    yield START
    yield from _iter_insertions(weights)
    yield SCORES.format(features=FEATURES[weights.weighting])
    calibration = model.parameters.calibration
    temperature = TEMPERATURE.format(
        log_scale=log(calibration.scale), exponent=calibration.exponent, max_log=MAX_ABS_LOG
    )
    if not isinstance(calibration, LabelCalibration):
        yield CLASS_VIEWS.format(log_scores=_format_log_scores(weights), temperature=temperature)
        return
    label_numbers = zip(
        model.classes, calibration.slopes.tolist(), calibration.offsets.tolist(),
        calibration.prior.tolist(), strict=True,
    )  # fmt: skip
    for row in label_numbers:
        yield _format_insertion("label_calibration", *row)
    nodes, node_weights = np.polynomial.legendre.leggauss(
        min(len(model.classes), MAX_QUADRATURE_NODES)
    )
    positions = (nodes + 1) / 2  # from −1 … 1 to 0 … 1
    node_rows = zip(positions.tolist(), node_weights.tolist(), strict=True)
    yield LABEL_VIEWS.format(
        temperature=temperature,
        level=calibration.level,
        rivalry=calibration.rivalry,
        max_log=MAX_ABS_LOG,
        nodes=", ".join(map(str, node_rows)),
        f1_rounding=F1_ROUNDING,
    )


def _iter_insertions(weights: TermWeights) -> Iterator[str]:
    """Yield statements that insert the biases and weights of the classes that are possible.

    Raise `UsageError` if a single term can make one of the classes impossible.
    """
    possible_classes = set()
    is_bernoulli = weights.model.settings.classifier == "bernoulli"
    for term, label, probability, weight, *last_values in weights.iter_rows():
        if term is None and isfinite(weight):
            possible_classes.add(label)
            yield _format_insertion("biases", label, weight)
        if term is None or label not in possible_classes:
            continue
        # If all documents of a class have a term, documents without it are impossible.
        if not isfinite(weight) or (is_bernoulli and probability == 1):
            raise UsageError(
                "an export as SQL needs smoothing: a single term makes a class impossible",
                hint="set --smoothing to a number above 0",
            )
        idf = last_values[1:] or [0]
        yield _format_insertion("weights", term, label, probability, weight, last_values[0], *idf)


def _format_insertion(table: str, *values: str | float) -> str:
    texts = []
    for value in values:
        text = repr(value)
        if isinstance(value, str):
            quoted = value.replace("'", "''").replace("\0", "' || CHAR(0) || '")
            text = f"'{quoted}'"
        texts.append(text)
    return f"INSERT INTO {table} VALUES ({', '.join(texts)});\n"  # noqa: S608 - quoted


def _format_log_scores(weights: TermWeights) -> str:
    """Return the query of the scores of exclusive classes on the scale of log-probabilities."""
    classifier = weights.classifier
    if not isinstance(classifier, ComplementNaiveBayes) or classifier.length_divisor is None:
        return LOG_SCORES
    size = "MAX(1, tokens)"
    if classifier.weighting == "tfidf":
        size = f"SQRT({size})"
    n_classes = int(np.count_nonzero(np.isfinite(classifier.bias)))
    return COMPLEMENT_LOG_SCORES.format(
        size=f"{classifier.length_divisor} * {size}",
        n_classes=n_classes,
        order_divisor=float(ORDER_DIVISOR),
        threshold=0.5 / n_classes,
    )
