"""Advice when to stop: the gain from twice the labels, by the learning curve of the labels in the order in which they came.

Each point is the accuracy, on the random sample, of the model of the first m labels, a document of the sample left out where it is among them. The
law that is fitted to the points is that of `nbtext.evaluation.learning_curves`.
"""

from __future__ import annotations

import numpy as np

from nbtext.errors import quantity
from nbtext.evaluation.learning_curves import Forecast, forecast
from nbtext.labelling.session import Session, right
from nbtext.metrics.intervals import Bootstrap

PARTS = 5
"""Parts of the sample, as if each came from a run of its own."""

FEWEST_DRAWN = 25
"""Documents of the sample, and labels, without which there is no forecast."""

SIZES = 6
SMALLEST_SIZE = 16
"""The smallest size is the largest over this."""

WORTH_GOING_ON = 0.01
"""Accuracy that twice the labels must bring to be worth them."""


def outlook(session: Session) -> Forecast:
    """Return the forecast of accuracy at twice the labels."""
    rows, n = session.sample(), len(session.labels)
    if rows.size < FEWEST_DRAWN:
        return Forecast(2 * n, withheld=f"{rows.size} of {FEWEST_DRAWN} documents drawn at random")
    labelled = np.array(list(session.labels))
    truth = session.truth(labelled)
    place = {row: number for number, row in enumerate(labelled.tolist())}
    places = np.array([place[row] for row in rows.tolist()])
    part = session.pool.part(labelled)
    fewest = max(n // SMALLEST_SIZE, min(2 * len(session.classes), n))
    sizes = np.unique(np.round(np.geomspace(fewest, n, SIZES)).astype(np.int64))
    figures = np.empty((PARTS, sizes.size))
    for column, size in enumerate(sizes.tolist()):
        model = type(session.model)(part, session.seeds)
        for _ in session.classes[len(session.seeds) :]:
            model.add_class()
        model.load(np.arange(size), truth[:size])
        scores, within = model.scores(places), places < size
        scores[:, within] = model.left_out(places[within], truth[places[within]])
        hits = right(model.answers(session.log_posterior(scores, rows)), truth[places])
        figures[:, column] = [hits[number::PARTS].mean() for number in range(PARTS)]
    return forecast(sizes, figures, PARTS, n, 2 * n, Bootstrap())


def advice(found: Forecast) -> str:
    """Return a forecast in words."""
    if found.value is None or found.interval is None or found.now is None:
        return f"too early to say when to stop: {found.withheld}"
    gain = found.value - found.now
    what = "you can stop" if gain < WORTH_GOING_ON else "labels still pay"
    low, high = found.interval
    return f"{what}: {quantity(found.documents, 'label')} would bring {found.value:.2f} ({low:.2f} to {high:.2f}), these {found.now:.2f}"
