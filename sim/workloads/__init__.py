"""Programs to run and ways to run them: what benchmarks and tests share."""
