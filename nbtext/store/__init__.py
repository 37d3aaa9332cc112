"""Model files on disk: settings and arrays, written atomically and read safely."""

from nbtext.store.model_file import FORMAT_VERSION, read_model_file, write_model_file

__all__ = ["FORMAT_VERSION", "read_model_file", "write_model_file"]
