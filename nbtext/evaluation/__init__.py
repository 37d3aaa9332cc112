"""How well a model does, and what is wrong with its corpus: judging, cross-validation, learning curves, comparison, search, doubtful labels, leaks, drift."""
