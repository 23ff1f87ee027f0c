"""Plays a scenario: the agenda, the passing of time, scripted guests, actions and expectations."""
