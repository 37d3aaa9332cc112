"""Work in several processes, here and on a cluster; it knows nothing of texts."""
