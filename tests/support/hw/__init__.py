"""Support of the hardware's tests: benches, simulators that are kept, the list of the state of the SM."""
