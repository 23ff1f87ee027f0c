"""An hour of faults: the real watcher, keeper and journal on virtual time, against an endpoint that misbehaves.

Everything is drawn from a seed. Sockets, threads and the journal are real; only the waiting is not: `hours.py`
lets time pass when everybody waits for it.
"""
