"""The conventions of the API: a resource built on these views has all of them."""
