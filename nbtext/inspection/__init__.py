"""Look into a model: sizes and terms, differences between classes, checks of the file, documents drawn from it."""
