"""Coverage of the preemption rooms by benches of exported SystemVerilog: Verilator counts, the report names Python."""
