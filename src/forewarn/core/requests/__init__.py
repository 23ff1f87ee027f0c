"""What people ask for, and when the rules say no.

Each function writes into a draft, or returns a `Refusal` and leaves the draft as it was.
"""
