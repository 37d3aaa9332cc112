"""Why one document got its class, and what would change it."""
