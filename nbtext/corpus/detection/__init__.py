"""Detection of formats, kinds of documents and columns, and hints for misread files."""
