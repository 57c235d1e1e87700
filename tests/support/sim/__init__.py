"""What tests of simulation and its reports share: independent judges, small programs."""
