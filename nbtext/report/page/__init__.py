"""Reports as HTML pages that need no other files: no scripts, fonts or pictures."""
