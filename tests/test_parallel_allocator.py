"""Freed memory is kept for the next block, measured by page faults of a process."""

from __future__ import annotations

import sys

import pytest

from tests.process import python

COUNT_FAULTS = """
import resource, sys
import numpy as np
from nbtext.parallel.allocator import keep_freed_memory

keep_freed_memory(replaces_dask_setting=sys.argv[1] == "worker")
np.ones(100_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(100):
    np.ones(300_000)  # 2.4 MB, or 586 pages
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""

ALL_FAULTS = 100 * 500
FEW_FAULTS = 5 * 586


def count_faults(place: str, **environment: str) -> int:
    return int(python(COUNT_FAULTS, place, env=environment).out)


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has mallopt")
def test_freed_memory_is_kept_unless_the_user_sets_the_allocator() -> None:
    assert count_faults("here") < FEW_FAULTS
    assert count_faults("here", MALLOC_TRIM_THRESHOLD_="65536") > ALL_FAULTS
    assert count_faults("worker", MALLOC_TRIM_THRESHOLD_="65536") < FEW_FAULTS
    assert count_faults("worker", MALLOC_TRIM_THRESHOLD_="65537") > ALL_FAULTS
    assert count_faults("worker", MALLOC_MMAP_THRESHOLD_="65536") > ALL_FAULTS
