"""How fast the backbone is, measured against something simpler that does the same."""
