"""Traits: conditions that one setting or option needs and another lacks.

`nbtext.compatibility` lists which settings and options need and lack a trait. The classes of the
two modules are plain, because every command imports them: named tuples and enums are slower.
"""

from __future__ import annotations


class Trait:
    """A condition, by its name in the reference.

    If A needs the trait and B lacks it, ``reason`` completes the message "A cannot be used with B:
    …", and ``remedy`` is the hint.
    """

    def __init__(self, name: str, reason: str, remedy: str = "remove one of them") -> None:
        self.name = name
        self.reason = reason
        self.remedy = remedy

    def __repr__(self) -> str:
        """Return the name, for failing tests."""
        return f"<{self.name}>"


COUNT_SUMS = Trait(
    "sums",
    reason="such a model does not follow from sums of counts",
    remedy="train it again on all documents",
)
LABELLED_ONLY = Trait(
    "labelled",
    reason="the counts of unlabelled documents cannot be subtracted",
    remedy="add --unlabelled POOL or --drop-unlabelled to nbtext update or forget, or train again",
)
LABELLED_COUNTS = Trait(
    "from-sums", reason="the counts would include more than the labelled documents"
)
WEIGHTS = Trait(
    "weights",
    reason="that model gives all documents the same weight",
    remedy="use multinomial, bernoulli, complement or logistic",
)
LINEAR = Trait(
    "linear",
    reason="its scores are not sums of one weight for each term",
    remedy="use multinomial, bernoulli, complement or logistic",
)
JOINED_COUNTS = Trait(
    "joins", reason=("the unlabelled counts join those of --classifier multinomial")
)
LEAVE_ONE_OUT = Trait(
    "leave-one-out",
    reason="leave-one-out is exact only for --classifier multinomial without tf-idf",
    remedy="use folds; for --smoothing, use auto or a number",
)
EVIDENCE = Trait(
    "evidence",
    reason=(
        "only --classifier multinomial --weighting counts, bernoulli and gaussian have evidence, "
        "AIC and BIC"
    ),
    remedy="cross-validate others",
)
MIXTURE = Trait(
    "mixes",
    reason="p(m | data) compares models of the same counts that have an evidence",
    remedy="use multinomial or bernoulli, with several pseudo-counts: "
    "multinomial:0.1+multinomial:1",
)
PRIOR = Trait(
    "prior",
    reason="the scores have no class prior",
    remedy="remove the option, or use another classifier",
)
SYMMETRIC = Trait("symmetric", reason="the numbers of the file are the shape")
BACKGROUND = Trait("background", reason="this classifier needs symmetric")
TERM_PSEUDO_COUNTS = Trait(
    "own",
    reason="one pseudo-count is needed for all terms",
    remedy="set --smoothing to one number",
)
TWO_PSEUDO_COUNTS = Trait(
    "two",
    reason="only bernoulli uses two numbers, for documents with a term and without",
    remedy="set --smoothing to one number",
)
ATTRIBUTES = Trait(
    "attributes",
    reason="the scores are not log-likelihoods, so those of columns cannot be added",
    remedy="use another classifier, or remove the columns",
)
FACTORS = Trait(
    "factors",
    reason="the probability is not a product of fractions, one for each word",
    remedy="train --classifier multinomial or bernoulli, with --weighting counts or binary",
)
POSTERIOR = Trait(
    "posterior", reason="maximum likelihood has no prior", remedy="use --set estimate=mean"
)
SMOOTHED = Trait(
    "smoothed",
    reason="a single count of 0 would decide",
    remedy="set --smoothing to a number above 0, and remove --set estimate=ml",
)
SAMPLE = Trait(
    "sample",
    reason="the model must keep documents",
    remedy="train with --set keep-documents=N above 0",
)
CALIBRATED = Trait(
    "calibrated", reason=("the weight of unlabelled text is chosen by calibrated probabilities")
)
LABEL_FREE_TERMS = Trait("free", reason="the labels select the terms")
EQUAL_CLASS_WEIGHTS = Trait("equal", reason="all classes must have the same weight")
ONE_SOURCE = Trait("source", reason="only one of them can be read")
ONE_TEXT = Trait("text", reason="one of them is the text")
RECORDS = Trait("records", reason="a mail filter reads and writes one message")
MESSAGES = Trait("messages", reason="one prints more messages, the other fewer")
LOCAL_COUNTING = Trait(
    "here", reason="the cluster counts the documents", remedy="use --jobs without --scheduler"
)
LABELS = Trait("labels", reason="all documents have this one label")
POOL = Trait("pool", reason="one adds unlabelled counts, the other drops them")
SINGLE_PREDICTION = Trait("single", reason="a set of classes is not a single prediction")
TRAINING_PROPORTIONS = Trait(
    "shares", reason=("the guarantee is for the class proportions of training")
)
FOLDS = Trait("folds", reason="each document is a fold")
RANDOM_FOLDS = Trait("draws", reason="documents are divided by time, not at random")
THRESHOLDS = Trait("thresholds", reason="each option decides which labels are predicted")
CHOICES = Trait("choices", reason="the one keeps the choices of training, the other chooses again")
CONTRIBUTIONS = Trait("contributions", reason="the output shows changes of the document")
CONTRASTS = Trait("contrasts", reason="the calculation is a text with all classes")
ONE_MODE = Trait("mode", reason="only one of them is possible")
OUTPUT_ROWS = Trait("rows", reason="only one of them can set the format")
PAGE_DETAILS = Trait("page", reason="the page shows only --term and --regions")
RANKING_DETAILS = Trait("ranking", reason="the rows are only the terms of --information")
TEXT_ONLY = Trait(
    "alone",
    reason="columns are not possible here",
    remedy="remove the columns",
)
MULTI_LABEL = Trait(
    "several",
    reason="this needs documents with one label each",
    remedy="remove the option; multinomial, bernoulli and logistic predict several labels",
)

# The traits above, for the reference and the test of all pairs.
ALL_TRAITS = tuple(value for value in vars().values() if isinstance(value, Trait))
