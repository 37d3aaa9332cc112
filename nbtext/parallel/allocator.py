"""Let glibc keep freed memory for the next block of documents.

Otherwise glibc returns the memory to the system after each block and gets it back cleared, which
takes a tenth of the time of training. Other C libraries are left unchanged.
"""

from __future__ import annotations

import contextlib
import ctypes  # numpy imports it too
import os

# Parameters of ``mallopt``, from malloc.h of glibc:
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3

_TRIM_VARIABLE = "MALLOC_TRIM_THRESHOLD_"
_USER_VARIABLES = (_TRIM_VARIABLE, "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")

DASK_TRIM_THRESHOLD = "65536"
"""The value that Dask sets for its workers. It makes a worker take up to three times as long."""


def keep_freed_memory(*, replaces_dask_setting: bool = False) -> None:
    """Let glibc keep up to 64 MiB of freed memory, unless the user has set this up.

    If ``replaces_dask_setting`` is true, the value that Dask sets is not a setting of the user.
    """
    user_settings = {name: os.environ[name] for name in _USER_VARIABLES if name in os.environ}
    if replaces_dask_setting and user_settings.get(_TRIM_VARIABLE) == DASK_TRIM_THRESHOLD:
        del user_settings[_TRIM_VARIABLE]
    if user_settings:
        return
    with contextlib.suppress(OSError, TypeError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_TRIM_THRESHOLD, 64 << 20)
        mallopt(_M_MMAP_THRESHOLD, 4 << 20)
