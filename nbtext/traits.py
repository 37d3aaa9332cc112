"""Traits: what one thing asked for needs and another lacks. `nbtext.compatibility` says which.

A new trait is a line here. Every command imports this module and that one: their records are plain
classes, because defining a named tuple takes 0.1 ms, and an enum of all traits 0.5 ms.
"""

from __future__ import annotations


class Trait:
    """A trait, by its name in the reference.

    ``why`` is the reason that what needs it excludes what lacks it, and ``remedy`` what to do then.
    """

    def __init__(self, name: str, why: str, remedy: str = "leave one of them out") -> None:
        self.name = name
        self.why = why
        self.remedy = remedy

    def __repr__(self) -> str:
        """Return the name, for failing tests."""
        return f"<{self.name}>"


SUMS = Trait(
    "sums",
    why="a model of that kind does not follow from sums of counts",
    remedy="train it again on all documents",
)
LABELLED = Trait(
    "labelled",
    why="it cannot be updated exactly",
    remedy="give --unlabelled POOL or --drop-unlabelled to nbtext update or forget, or train it "
    "again",
)
FROM_SUMS = Trait("from-sums", why="its counts would not be those of the labelled documents")
WEIGHTS = Trait(
    "weights",
    why="that model counts all documents alike",
    remedy="multinomial, bernoulli, complement and logistic take weights",
)
JOINS = Trait("joins", why="they join the counts of --classifier multinomial")
LEAVE_ONE_OUT = Trait(
    "leave-one-out",
    why="it is exact only for --classifier multinomial without tf-idf",
    remedy="use folds, or for --smoothing auto or a number",
)
EVIDENCE = Trait(
    "evidence",
    why="evidence, AIC and BIC are those of --classifier multinomial --weighting counts, bernoulli "
    "and gaussian",
    remedy="cross-validate others",
)
MIXES = Trait(
    "mixes",
    why="p(m | data) is of models of the same counts that have an evidence",
    remedy="name one of multinomial and bernoulli, with several pseudo-counts: "
    "multinomial:0.1+multinomial:1",
)
PRIOR = Trait(
    "prior",
    why="its scores have no class prior",
    remedy="leave it out, or take another classifier",
)
SYMMETRIC = Trait("symmetric", why="the numbers themselves are the shape")
BACKGROUND = Trait("background", why="it takes symmetric")
OWN = Trait(
    "own",
    why="it takes one pseudo-count for all terms",
    remedy="give --smoothing one number",
)
TWO = Trait(
    "two",
    why="bernoulli alone takes two numbers, of documents with a term and without",
    remedy="give --smoothing one number",
)
ATTRIBUTES = Trait(
    "attributes",
    why="its scores are not log-likelihoods, so those of columns cannot be added to them",
    remedy="leave out the classifier, or the columns",
)
POSTERIOR = Trait(
    "posterior", why="maximum likelihood has no prior", remedy="use --set estimate=mean"
)
SMOOTHED = Trait(
    "smoothed",
    why="a count of 0 would decide alone",
    remedy="give --smoothing a number above 0, and no --set estimate=ml",
)
SAMPLE = Trait("sample", why="documents must be kept", remedy="train with --set sample=N above 0")
CALIBRATED = Trait("calibrated", why="its weight is chosen by calibrated answers")
FREE = Trait("free", why="labels choose the terms")
EQUAL = Trait("equal", why="all classes must weigh alike")
SOURCE = Trait("source", why="only one of them can be read")
TEXT = Trait("text", why="one of them is the text")
RECORDS = Trait("records", why="a mail filter reads one message and writes it")
MESSAGES = Trait("messages", why="one asks for more messages, the other for none")
HERE = Trait("here", why="the cluster does the counting", remedy="use --jobs without --scheduler")
LABELS = Trait("labels", why="all documents have the one label")
POOL = Trait("pool", why="one learns from a pool, the other forgets it")
SINGLE = Trait("single", why="a set of classes has no single answer")
SHARES = Trait("shares", why="the promise is for the class shares of training")
FOLDS = Trait("folds", why="each document is left out alone")
DRAWS = Trait("draws", why="documents are divided by time, not at random")
THRESHOLDS = Trait("thresholds", why="each of them says which labels are given")
CONTRIBUTIONS = Trait("contributions", why="it shows changes of the document")
MODE = Trait("mode", why="only one of them can be done")
ROWS = Trait("rows", why="the form is given by the other")
ALONE = Trait(
    "alone",
    why="there must be no columns beside the text",
    remedy="leave out the columns",
)
SEVERAL = Trait(
    "several",
    why="it is for documents of one label",
    remedy="leave it out; multinomial, bernoulli and logistic take several labels",
)

EVERY_TRAIT = tuple(value for value in vars().values() if isinstance(value, Trait))
