"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("nbtext", deadline=None, print_blob=True)
settings.load_profile("nbtext")
