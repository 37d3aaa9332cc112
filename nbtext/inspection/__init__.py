"""Look into a model: sizes and terms, documents drawn from it; and check an installation."""
