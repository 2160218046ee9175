"""The queues that Axiom is compared with; their workers import their module and no other."""
