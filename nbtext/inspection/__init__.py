"""What is in a model: its sizes and terms, how classes differ, whether the file is whole, documents drawn from it."""
