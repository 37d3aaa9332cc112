"""The command line: one thin file per command."""

import gc

gc.set_threshold(100_000)  # many strings, few cycles; already while modules are imported
