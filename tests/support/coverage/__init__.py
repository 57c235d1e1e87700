"""How much of the preemption rooms the benches of exported SystemVerilog run: counted by Verilator, told of Python."""
