"""Look into a model: sizes and terms, differences between classes and models, checks of the file, documents drawn from it."""
