"""Whether hardware is the same circuit as before, whatever its names, its hierarchy and its signals are now."""
