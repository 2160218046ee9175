"""Live chat: plain ASGI, in front of Django, like the notifications' streams.

socket.py      the application: /ws/chat/{room}/
connection.py  one open socket: what its client may say, and how fast
hub.py         one per process: hears what is said once and tells all its sockets
"""
