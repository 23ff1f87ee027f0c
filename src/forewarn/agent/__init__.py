"""The program in the guest: watches, prepares, approves, recovers. Standard library only, nothing else of ours."""
