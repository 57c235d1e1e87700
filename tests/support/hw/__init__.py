"""What tests of the hardware share: benches, simulators that are kept, the list of the state of the SM."""
