"""The production plane, store, wire and simulated guests under a virtual clock, with seeds and faults.

    python -m tests.simulation --seeds 0-199

Safety first: a day with crashes, lost replies, failing drivers and clock steps, every law checked at every commit.
Then liveness: the faults stop, and everything pending has to end.
"""
