"""Results for people and for machines: records, tables, text that is safe to look at."""
