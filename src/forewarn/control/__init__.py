"""The plane: carries out requests, ticks, and publishes to the board."""
