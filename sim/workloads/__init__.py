"""Programs, and ways to run them, that benchmarks and tests share."""
