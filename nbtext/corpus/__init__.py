"""Where documents come from: one reader per format, one decoder per kind of document."""
