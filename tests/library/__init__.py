"""A small app of tenants' books: what the conventions promise every app is tried on it."""
