// checksum: Takes a number of words a cycle.
//
// Each bit of the next state is one reduction of the state and the words under a mask. A
// `amaranth.lib.crc.Processor`, of which the catalogue entry is used, writes the same as two
// thousand gates of two inputs for 128 bits, which costs elaboration and simulation alike.
//
// Parameters of this file
//
//   geometry tiny: warp_size=8, lanes=8, warps=4, tb_slots=2, registers=64, regs_per_thread=16,
//   shared_bytes=1024, bus_bytes=8, bytes_per_cycle=8.0, memory_latency=10, clock_mhz=None,
//   icache_lines=4, constant_lines=2, stack_depth=8, kernel_slots=4, param_words=64, windows=2,
//   alu_latency=6, unit_queue=2, load_queue=4, atomic_queue=2, f64_lanes=1, sfu_lanes=2,
//   exchange_lanes=4, tb_compressor=True, grace=True, restart=True, profile=True,
//   checkpoints=True, in_place=True, traps=True, watches=0, entries=0, sms=1, queues=0,
//   queue_capacity=4
//   words = 2
//
// Timing
//
//   Handshake: none; signals mean what they say in the cycle they are high.
//   From registers alone: crc.
//
// Ports
//
//   start : Signal, in
//       Forget what came before.
//   data : Signal, in; valid : Signal, in
//       The next words, the first lowest; in a cycle with `start` the first ones.
//   crc : Signal(32), out
//       The checksum of what has come; it follows `data` by one cycle.

module checksum (
  input  logic        clk,
  input  logic        rst,
  input  logic        start,
  input  logic [63:0] data,
  input  logic        valid,
  output logic [31:0] crc
);

  checksum__netlist netlist (
    .clk (clk),
    .rst (rst),
    .start (start),
    .data (data),
    .valid (valid),
    .crc (crc)
  );

endmodule

/* verilator lint_off DECLFILENAME */  // the modules of a block are in one file
/* verilator lint_off PROCASSINIT */  // registers have a value at power-up too, as those of an FPGA
/* verilator lint_off CASEINCOMPLETE */  // where no case matches, what was assigned before holds
/* verilator lint_off VARHIDDEN */  // a signal may have the name of an instance around its module
/* verilator lint_off CMPCONST */  // where a field has few values, a comparison may be decided
/* verilator lint_off UNOPTFLAT */  // no bit depends on itself, only vectors on other bits of theirs
/* verilator lint_off UNUSEDSIGNAL */  // a block may need only some fields of a structure, or no clock
module checksum__netlist(rst, start, data, valid, crc, clk);
  input rst;
  wire rst;
  input start;
  wire start;
  input [63:0] data;
  wire [63:0] data;
  input valid;
  wire valid;
  output [31:0] crc;
  wire [31:0] crc;
  input clk;
  wire clk;
  wire [95:0] \$1 ;
  wire \$10 ;
  wire [95:0] \$11 ;
  wire \$12 ;
  wire [95:0] \$13 ;
  wire \$14 ;
  wire [95:0] \$15 ;
  wire \$16 ;
  wire [95:0] \$17 ;
  wire \$18 ;
  wire [95:0] \$19 ;
  wire \$2 ;
  wire \$20 ;
  wire [95:0] \$21 ;
  wire \$22 ;
  wire [95:0] \$23 ;
  wire \$24 ;
  wire [95:0] \$25 ;
  wire \$26 ;
  wire [95:0] \$27 ;
  wire \$28 ;
  wire [95:0] \$29 ;
  wire [95:0] \$3 ;
  wire \$30 ;
  wire [95:0] \$31 ;
  wire \$32 ;
  wire [95:0] \$33 ;
  wire \$34 ;
  wire [95:0] \$35 ;
  wire \$36 ;
  wire [95:0] \$37 ;
  wire \$38 ;
  wire [95:0] \$39 ;
  wire \$4 ;
  wire \$40 ;
  wire [95:0] \$41 ;
  wire \$42 ;
  wire [95:0] \$43 ;
  wire \$44 ;
  wire [95:0] \$45 ;
  wire \$46 ;
  wire [95:0] \$47 ;
  wire \$48 ;
  wire [95:0] \$49 ;
  wire [95:0] \$5 ;
  wire \$50 ;
  wire [95:0] \$51 ;
  wire \$52 ;
  wire [95:0] \$53 ;
  wire \$54 ;
  wire [95:0] \$55 ;
  wire \$56 ;
  wire [95:0] \$57 ;
  wire \$58 ;
  wire [95:0] \$59 ;
  wire \$6 ;
  wire \$60 ;
  wire [95:0] \$61 ;
  wire \$62 ;
  wire [95:0] \$63 ;
  wire \$64 ;
  reg [31:0] \$65 ;
  wire [95:0] \$7 ;
  wire \$8 ;
  wire [95:0] \$9 ;
  reg [31:0] \before ;
  reg [31:0] state = 32'd4294967295;
  assign \$34  = ^ \$33 ;
  assign \$35  = { data, \before  } & 96'h3b935924c018dfb5c018dfb5;
  assign \$36  = ^ \$35 ;
  assign \$37  = { data, \before  } & 96'h7726b2498031bf6a8031bf6a;
  assign \$38  = ^ \$37 ;
  assign \$39  = { data, \before  } & 96'hee4d649300637ed500637ed5;
  assign \$40  = ^ \$39 ;
  assign \$41  = { data, \before  } & 96'hd84bc8f948ddb3f048ddb3f0;
  assign \$42  = ^ \$41 ;
  assign \$43  = { data, \before  } & 96'hb446902dd9a029bbd9a029bb;
  assign \$44  = ^ \$43 ;
  assign \$45  = { data, \before  } & 96'h6c5c2184fb5b1d2cfb5b1d2c;
  assign \$46  = ^ \$45 ;
  assign \$47  = { data, \before  } & 96'hd8b84309f6b63a59f6b63a59;
  assign \$48  = ^ \$47 ;
  assign \$49  = { data, \before  } & 96'hb5a187cca5773ae8a5773ae8;
  assign \$50  = ^ \$49 ;
  assign \$51  = { data, \before  } & 96'h6f920e4602f53b8a02f53b8a;
  assign \$52  = ^ \$51 ;
  assign \$53  = { data, \before  } & 96'hdf241c8c05ea771505ea7715;
  assign \$54  = ^ \$53 ;
  assign \$55  = { data, \before  } & 96'hba9938c743cfa07143cfa071;
  assign \$56  = ^ \$55 ;
  assign \$57  = { data, \before  } & 96'h71e37051cf840eb8cf840eb8;
  assign \$58  = ^ \$57 ;
  assign \$59  = { data, \before  } & 96'he3c6e0a39f081d709f081d70;
  assign \$60  = ^ \$59 ;
  assign \$61  = { data, \before  } & 96'hc35cc098760b74bb760b74bb;
  assign \$62  = ^ \$61 ;
  assign \$63  = { data, \before  } & 96'h826880efa40da72da40da72d;
  assign \$64  = ^ \$63 ;
  always_ff @(posedge clk)
    state <= \$65 ;
  assign crc = state ^ 32'd4294967295;
  assign \$1  = { data, \before  } & 96'h04d101df481b4e5a481b4e5a;
  assign \$2  = ^ \$1 ;
  assign \$3  = { data, \before  } & 96'h09a203be90369cb590369cb5;
  assign \$4  = ^ \$3 ;
  assign \$5  = { data, \before  } & 96'h1344077d206d396b206d396b;
  assign \$6  = ^ \$5 ;
  assign \$7  = { data, \before  } & 96'h26880efa40da72d740da72d7;
  assign \$8  = ^ \$7 ;
  assign \$9  = { data, \before  } & 96'h4d101df481b4e5af81b4e5af;
  assign \$10  = ^ \$9 ;
  assign \$11  = { data, \before  } & 96'h9a203be90369cb5e0369cb5e;
  assign \$12  = ^ \$11 ;
  assign \$13  = { data, \before  } & 96'h3091760d4ec8d8e64ec8d8e6;
  assign \$14  = ^ \$13 ;
  assign \$15  = { data, \before  } & 96'h6122ec1a9d91b1cd9d91b1cd;
  assign \$16  = ^ \$15 ;
  assign \$17  = { data, \before  } & 96'hc245d8353b23639a3b23639a;
  assign \$18  = ^ \$17 ;
  assign \$19  = { data, \before  } & 96'h805ab1b53e5d896e3e5d896e;
  assign \$20  = ^ \$19 ;
  assign \$21  = { data, \before  } & 96'h046462b534a05c8634a05c86;
  assign \$22  = ^ \$21 ;
  assign \$23  = { data, \before  } & 96'h08c8c56a6940b90c6940b90c;
  assign \$24  = ^ \$23 ;
  assign \$25  = { data, \before  } & 96'h11918ad4d2817218d2817218;
  assign \$26  = ^ \$25 ;
  assign \$27  = { data, \before  } & 96'h232315a9a502e430a502e430;
  assign \$28  = ^ \$27 ;
  assign \$29  = { data, \before  } & 96'h46462b534a05c8604a05c860;
  assign \$30  = ^ \$29 ;
  assign \$31  = { data, \before  } & 96'h8c8c56a6940b90c0940b90c0;
  assign \$32  = ^ \$31 ;
  assign \$33  = { data, \before  } & 96'h1dc9ac92600c6fda600c6fda;
  always_comb begin
    \before  = state;
    if (start) begin
      \before  = 32'd4294967295;
    end
  end
  always_comb begin
    \$65  = state;
    if (start) begin
      \$65  = 32'd4294967295;
    end
    if (valid) begin
      \$65  = { \$64 , \$62 , \$60 , \$58 , \$56 , \$54 , \$52 , \$50 , \$48 , \$46 , \$44 , \$42 , \$40 , \$38 , \$36 , \$34 , \$32 , \$30 , \$28 , \$26 , \$24 , \$22 , \$20 , \$18 , \$16 , \$14 , \$12 , \$10 , \$8 , \$6 , \$4 , \$2  };
    end
    if (rst) begin
      \$65  = 32'd4294967295;
    end
  end
endmodule
/* verilator lint_on UNUSEDSIGNAL */
/* verilator lint_on UNOPTFLAT */
/* verilator lint_on CMPCONST */
/* verilator lint_on VARHIDDEN */
/* verilator lint_on CASEINCOMPLETE */
/* verilator lint_on PROCASSINIT */
/* verilator lint_on DECLFILENAME */
