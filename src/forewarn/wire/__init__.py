"""How it is said: bytes to values and values to bytes, without sockets."""
