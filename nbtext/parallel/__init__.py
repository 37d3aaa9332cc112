"""Work in several processes, on this machine or on a cluster. It does not depend on texts."""
