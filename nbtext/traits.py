"""Traits: conditions that one setting or option needs and another lacks.

`nbtext.compatibility` lists which settings and options need and lack a trait. The classes of the
two modules are plain, because every command imports them: named tuples and enums are slower.
"""

from __future__ import annotations


class Trait:
    """A condition, by its name in the reference.

    If A needs the trait and B lacks it, ``reason`` completes the message "A and B exclude each
    other: …", and ``remedy`` is the hint.
    """

    def __init__(self, name: str, reason: str, remedy: str = "leave one of them out") -> None:
        self.name = name
        self.reason = reason
        self.remedy = remedy

    def __repr__(self) -> str:
        """Return the name, for failing tests."""
        return f"<{self.name}>"


COUNT_SUMS = Trait(
    "sums",
    reason="a model of that kind does not follow from sums of counts",
    remedy="train it again on all documents",
)
LABELLED_ONLY = Trait(
    "labelled",
    reason="it cannot be updated exactly",
    remedy="give --unlabelled POOL or --drop-unlabelled to nbtext update or forget, or train it "
    "again",
)
LABELLED_COUNTS = Trait(
    "from-sums", reason="its counts would not be those of the labelled documents"
)
WEIGHTS = Trait(
    "weights",
    reason="that model counts all documents alike",
    remedy="multinomial, bernoulli, complement and logistic take weights",
)
JOINED_COUNTS = Trait("joins", reason="they join the counts of --classifier multinomial")
LEAVE_ONE_OUT = Trait(
    "leave-one-out",
    reason="it is exact only for --classifier multinomial without tf-idf",
    remedy="use folds, or for --smoothing auto or a number",
)
EVIDENCE = Trait(
    "evidence",
    reason="evidence, AIC and BIC are those of --classifier multinomial --weighting counts, "
    "bernoulli and gaussian",
    remedy="cross-validate others",
)
MIXTURE = Trait(
    "mixes",
    reason="p(m | data) is of models of the same counts that have an evidence",
    remedy="name one of multinomial and bernoulli, with several pseudo-counts: "
    "multinomial:0.1+multinomial:1",
)
PRIOR = Trait(
    "prior",
    reason="its scores have no class prior",
    remedy="leave it out, or take another classifier",
)
SYMMETRIC = Trait("symmetric", reason="the numbers themselves are the shape")
BACKGROUND = Trait("background", reason="it takes symmetric")
TERM_PSEUDO_COUNTS = Trait(
    "own",
    reason="it takes one pseudo-count for all terms",
    remedy="give --smoothing one number",
)
TWO_PSEUDO_COUNTS = Trait(
    "two",
    reason="bernoulli alone takes two numbers, of documents with a term and without",
    remedy="give --smoothing one number",
)
ATTRIBUTES = Trait(
    "attributes",
    reason="its scores are not log-likelihoods, so those of columns cannot be added to them",
    remedy="leave out the classifier, or the columns",
)
POSTERIOR = Trait(
    "posterior", reason="maximum likelihood has no prior", remedy="use --set estimate=mean"
)
SMOOTHED = Trait(
    "smoothed",
    reason="a count of 0 would decide alone",
    remedy="give --smoothing a number above 0, and no --set estimate=ml",
)
SAMPLE = Trait(
    "sample", reason="documents must be kept", remedy="train with --set sample=N above 0"
)
CALIBRATED = Trait("calibrated", reason="its weight is chosen by calibrated answers")
LABEL_FREE_TERMS = Trait("free", reason="labels choose the terms")
EQUAL_CLASS_WEIGHTS = Trait("equal", reason="all classes must weigh alike")
ONE_SOURCE = Trait("source", reason="only one of them can be read")
ONE_TEXT = Trait("text", reason="one of them is the text")
RECORDS = Trait("records", reason="a mail filter reads one message and writes it")
MESSAGES = Trait("messages", reason="one asks for more messages, the other for none")
LOCAL_COUNTING = Trait(
    "here", reason="the cluster does the counting", remedy="use --jobs without --scheduler"
)
LABELS = Trait("labels", reason="all documents have the one label")
POOL = Trait("pool", reason="one learns from a pool, the other forgets it")
SINGLE_PREDICTION = Trait("single", reason="a set of classes has no single answer")
TRAINING_PROPORTIONS = Trait("shares", reason="the promise is for the class shares of training")
FOLDS = Trait("folds", reason="each document is left out alone")
RANDOM_FOLDS = Trait("draws", reason="documents are divided by time, not at random")
THRESHOLDS = Trait("thresholds", reason="each of them says which labels are given")
CONTRIBUTIONS = Trait("contributions", reason="it shows changes of the document")
ONE_MODE = Trait("mode", reason="only one of them can be done")
OUTPUT_ROWS = Trait("rows", reason="the form is given by the other")
TEXT_ONLY = Trait(
    "alone",
    reason="there must be no columns beside the text",
    remedy="leave out the columns",
)
MULTI_LABEL = Trait(
    "several",
    reason="it is for documents of one label",
    remedy="leave it out; multinomial, bernoulli and logistic take several labels",
)

# The traits above, for the reference and the test of all pairs.
ALL_TRAITS = tuple(value for value in vars().values() if isinstance(value, Trait))
