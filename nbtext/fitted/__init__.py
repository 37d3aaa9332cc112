"""A trained model: its counts, what was learnt from them, and what it says of documents."""
