"""Look into a model: sizes and terms, differences between classes, documents drawn from it; and check an installation."""
