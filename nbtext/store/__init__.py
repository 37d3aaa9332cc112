"""The model file: plain arrays and settings to disk and back, atomically and safely. Knows no model class."""

from nbtext.store.atomic import check_replaceable
from nbtext.store.model_file import FORMAT, read_model_file, write_model_file

__all__ = ["FORMAT", "check_replaceable", "read_model_file", "write_model_file"]
