"""The effect of each instruction on the state of an SM."""
