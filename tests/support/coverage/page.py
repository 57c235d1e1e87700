def record_coverage(*a): pass
