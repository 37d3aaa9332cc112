"""The resident process of `nbtext serve`: answer requests over HTTP, and show a page."""
