"""The dialect of Azure's metadata endpoint, in all its versions."""
