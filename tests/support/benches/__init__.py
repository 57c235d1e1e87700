"""Benches that run inside a simulation, each a module; `tests/cocotb` runs them."""
