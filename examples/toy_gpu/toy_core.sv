// A core of two warps that can be preempted: eight lanes, four registers a thread, one instruction a cycle and warp.
//
// Its one program, LIMIT times round, with register 0 the number of the lane:
//   0: R1 += R0     1: R2 ^= R1     2: R3 += 1     3: preemption point; go to 0, or exit after the last round
//
// What a core without preemption would not have is marked with the signature of the preemption port that it serves
// (docs/adding-preemption.md). Shared memory, predicates, uniform registers and divergence it has none.
module toy_core import preemption_unit_pkg::*; #(parameter int LIMIT = 40) (
    input  logic clk, rst,
    input  logic launch,                    // a new thread block: both warps at the top of the program
    input  logic free,                      // the slots of both warps become empty
    output logic [1:0][7:0][31:0] results,  // register 2 of each warp
    // StopPort
    input  logic pending, stop_now,
    output logic [1:0] stopped, exited,
    // WarpSavePort
    input  warp_window_select_t select,
    output warp_view_t view,
    // RegisterStatePort
    input  logic flags_warp,
    output logic [63:0] flags_valid,
    input  logic read_valid,
    input  register_read_t read,
    output register_data_t read_data,
    input  logic write_valid,
    input  register_write_t write,
    // WarpLaunchPort
    input  logic init_valid,
    input  warp_init_t init,
    input  logic push_valid,
    input  stack_push_t push,
    input  logic start
);
    logic [1:0] there, runs;              // a warp is in the slot; it has started
    logic [1:0][7:0] live;                // its lanes that have not exited
    logic [1:0][1:0] pc;
    logic [1:0][3:0] valid;               // registers written since the launch
    logic [7:0][7:0][31:0] file;          // by warp and register

    // A warp stops at the point while its thread block is pending, anywhere once it is to stop at once. One
    // instruction takes one cycle, so nothing is ever outstanding. What is combinational here holds by itself:
    // a warp that has stopped does not move.
    logic [1:0] at_point, halts;
    for (genvar w = 0; w < 2; w++) begin : each_warp
        assign at_point[w] = pc[w] == 3;
        assign halts[w] = (pending && at_point[w]) || stop_now;
        assign exited[w] = there[w] && live[w] == 0;
        assign stopped[w] = there[w] && runs[w] && !exited[w] && halts[w];
        assign results[w] = file[4 * w + 2];
    end

    always_comb begin
        view = '0;
        view.valid = there[select.warp];
        view.block_warp = select.warp;
        view.base = {1'b0, select.warp, 2'b0};      // of its four registers in the file
        view.registers = 4;
        view.launched = 8'hFF;
        view.live = live[select.warp];
        view.parked = stopped[select.warp];
        view.between = stopped[select.warp] && !at_point[select.warp];
        view.exited = exited[select.warp];
        view.live_vector = 54'hF;                   // at the point all four are live
        view.depth = 1;                             // no divergence: the stack is one entry
        view.pc[1:0] = pc[select.warp];
        view.mask = live[select.warp];
        view.reconv = '1;                           // it reconverges nowhere
        flags_valid = 64'(valid[flags_warp]);
    end

    always_ff @(posedge clk) begin
        for (int w = 0; w < 2; w++) if (there[w] && runs[w] && live[w] != 0 && !halts[w]) begin
            case (pc[w])
                0: for (int k = 0; k < 8; k++) file[4*w+1][k] <= file[4*w+1][k] + file[4*w][k];
                1: for (int k = 0; k < 8; k++) file[4*w+2][k] <= file[4*w+2][k] ^ file[4*w+1][k];
                2: for (int k = 0; k < 8; k++) file[4*w+3][k] <= file[4*w+3][k] + 1;
                3: if (file[4*w+3][0] == LIMIT) live[w] <= '0;
            endcase
            pc[w] <= pc[w] + 1;
        end
        if (launch) begin
            for (int r = 0; r < 8; r++) for (int k = 0; k < 8; k++) file[r][k] <= (r % 4 == 0) ? k : 0;
            {there, runs, live, pc, valid} <= {2'b11, 2'b11, 16'hFFFF, 4'b0, 8'hFF};
        end

        // RegisterStatePort: a beat of a register, one cycle after it is asked for; a register is put back.
        read_data.valid <= read_valid;
        read_data.data <= file[3'(read.base) + 3'(read.register)];
        if (write_valid) begin
            file[3'(write.base) + 3'(write.register)] <= write.data;
            valid[write.warp][2'(write.register)] <= 1;
        end

        // WarpLaunchPort: a warp is put back, its stack after it, then both start.
        if (init_valid) begin
            {there[init.warp], runs[init.warp]} <= 2'b10;
            {live[init.warp], valid[init.warp]} <= {init.live, 4'b0};
        end
        if (push_valid) pc[push.warp] <= push.pc[1:0];
        if (start) runs <= '1;
        if (free || rst) {there, runs} <= '0;
    end
endmodule
