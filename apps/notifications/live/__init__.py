"""Live: what people see without asking again.

    handshake.py   who is asking, found out in a bounded executor
    stream.py      the two applications: server-sent events and WebSocket
    connection.py  one open stream: what waits to be written, how far it has come
    hub.py         one per process: hears Redis once and tells all its connections
    seats.py       at most three streams of a person, across all processes

Plain ASGI, in front of Django: an open stream holds no thread and no database connection.
"""
