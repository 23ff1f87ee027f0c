"""The guests' listener: who is asking, and the hot path.

The edge knows no plane: it is given the board and callables for what has to be committed first.
"""
