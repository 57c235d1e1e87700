"""Shows the compiler's facts about a kernel in the terminal, as JSON and as a page."""
