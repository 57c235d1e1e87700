"""Common parts of tests of the compiler: benches of PTX and IR, the table of forms, readers of foreign listings."""
