"""The generated pages, a file each."""
