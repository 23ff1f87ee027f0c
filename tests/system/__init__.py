"""The real service as a process, real guests in namespaces of their own. Needs root; run by `make test-all`."""
