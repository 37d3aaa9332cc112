"""Dirichlet priors and posteriors over class language models, and their evidence."""
