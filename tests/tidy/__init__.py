"""Tidiness, as tests whose messages say what to do instead."""
