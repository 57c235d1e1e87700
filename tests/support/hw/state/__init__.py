"""The state of the SM: each element of a design, and the list that says of each whether it is context."""
