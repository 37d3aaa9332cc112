"""Label a pool of documents from zero: which one to ask about next, what is known so far, and the file of answers. No terminal is needed."""
