"""What each instruction does to the state of an SM."""
