"""What the project needs beside the product: the generator of its reference pages."""
