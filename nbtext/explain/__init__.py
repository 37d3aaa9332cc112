"""Explanations of predictions, and changes that would lead to another prediction."""
