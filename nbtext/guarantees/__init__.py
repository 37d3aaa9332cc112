"""Guarantees of prediction sets, minimum precision, and intervals of class proportions."""
