"""Write results: as records for programs, as tables for people, and as HTML pages."""
