"""What happened, carried: catalog, outbox, relay, bus, consumers, inbox, dead letters."""
