"""Small faults planted in exported blocks, and whether their benches notice them."""
