"""Models of text, one per file: each is estimated from counts and scores documents."""
