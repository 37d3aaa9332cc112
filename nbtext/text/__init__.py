"""Bytes to term ids: surface forms, words, stop words, stems, n-grams."""
