"""What the compiler knows about a kernel, shown: in the terminal, as JSON, as a page."""
