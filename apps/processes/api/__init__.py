"""The edge of processes: definitions, instances, work and what agents learn."""
