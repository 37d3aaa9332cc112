"""Documents: a reader for each format of a corpus, and decoding, HTML and mail to text."""
