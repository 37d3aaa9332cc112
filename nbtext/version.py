"""The version of nbtext."""

__version__ = "1.0.0rc1"
