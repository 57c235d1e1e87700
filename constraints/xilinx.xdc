# Xilinx 7 series (Vivado): the clock of a block, 100 MHz. Pins are the board's to say.
create_clock -name clk -period 10.000 [get_ports clk]
