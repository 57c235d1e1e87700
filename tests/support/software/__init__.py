"""What tests of the compiler share: benches of PTX and IR, the table of forms, readers of others' listings."""
