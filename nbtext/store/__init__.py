"""The model file and what lies beside it: settings and arrays to disk and back, atomically and safely."""

from nbtext.store.model_file import FORMAT_VERSION, read_model_file, write_model_file

__all__ = ["FORMAT_VERSION", "read_model_file", "write_model_file"]
