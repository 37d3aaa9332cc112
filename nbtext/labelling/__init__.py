"""Labelling of a pool from scratch: the next document, the model so far, and files of answers."""
