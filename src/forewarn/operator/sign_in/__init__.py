"""Sign-in: who is asking, and how that is known.

Runs on real time, whatever clock maintenance goes by.
"""
