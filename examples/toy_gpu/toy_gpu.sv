// The toy core with the preemption unit: what a GPU adds is the unit, wires, and the table of a dispatcher.
//
// One slot for thread blocks, two kernels. `launch` starts a thread block of `launch_kernel`; what is preempted and
// resumed is told by `command`, how it has ended by `result`. `preemption_unit` comes from the exporter.
module toy_gpu import preemption_unit_pkg::*; (
    input  logic clk, rst,
    input  logic launch, launch_kernel,
    output logic busy,                           // a thread block is on the core
    output logic [1:0][7:0][31:0] results,
    input  command_t command_payload,
    input  logic command_valid,
    output logic command_ready,
    output engine_result_t result,
    output logic [2:0] m_axi_awid, output logic [31:0] m_axi_awaddr, output logic [7:0] m_axi_awlen,
    output logic [2:0] m_axi_awsize, output logic [1:0] m_axi_awburst,
    output logic m_axi_awvalid, input logic m_axi_awready,
    output logic [63:0] m_axi_wdata, output logic [7:0] m_axi_wstrb, output logic m_axi_wlast,
    output logic m_axi_wvalid, input logic m_axi_wready,
    input  logic [2:0] m_axi_bid, input logic [1:0] m_axi_bresp, input logic m_axi_bvalid, output logic m_axi_bready,
    output logic [2:0] m_axi_arid, output logic [31:0] m_axi_araddr, output logic [7:0] m_axi_arlen,
    output logic [2:0] m_axi_arsize, output logic [1:0] m_axi_arburst,
    output logic m_axi_arvalid, input logic m_axi_arready,
    input  logic [2:0] m_axi_rid, input logic [63:0] m_axi_rdata, input logic [1:0] m_axi_rresp,
    input  logic m_axi_rlast,
    input  logic m_axi_rvalid, output logic m_axi_rready
);
    logic pending, stop_now, flags_warp, read_valid, write_valid, init_valid, push_valid;
    logic [1:0] stopped, exited;
    logic [63:0] flags_valid;
    warp_window_select_t select;
    warp_view_t view;
    register_read_t read;
    register_data_t read_data;
    register_write_t write;
    warp_init_t init;
    stack_push_t push;
    tb_event_t start;

    // The dispatcher: its table has one row, every admission gets it.
    logic claim, admit_valid, ends;
    tb_event_t released;
    resident_tb_t resident;
    admission_t admit;
    admitted_t admitted;
    kernel_info_t [1:0] kernels;
    assign busy = resident.valid;
    assign ends = resident.valid && resident.started && exited == 2'b11 && !claim;

    always_comb begin
        kernels = '0;
        for (int k = 0; k < 2; k++) begin           // both run the one program there is
            kernels[k].registers = 4;
            kernels[k].warps = 2;
            kernels[k].ccb_base = 32'h4000 + 32'(k) * 32'h2000;
            kernels[k].area_bytes = 32'h400;
        end
    end

    always_ff @(posedge clk) begin
        admitted <= '0;
        admitted.slots <= 2'b10;                    // warp 0 in slot 0, warp 1 in slot 1
        if (launch) begin
            resident <= '0;
            {resident.valid, resident.started, resident.warps} <= 4'b1111;
            resident.kernel <= launch_kernel;
        end
        if (admit_valid && !admitted.valid) begin
            admitted.valid <= 1;
            admitted.full <= resident.valid;
            if (!resident.valid) begin
                resident <= '0;
                {resident.valid, resident.warps} <= 3'b111;
                {resident.kernel, resident.launch_id} <= {admit.kernel, admit.launch_id};
                {resident.ctaid_x, resident.ctaid_y, resident.ctaid_z} <= {admit.ctaid_x, admit.ctaid_y, admit.ctaid_z};
            end
        end
        if (start.valid) resident.started <= 1;
        if (released.valid || ends || rst) resident.valid <= 0;
    end

    toy_core core (.launch(launch), .free(released.valid || ends), .start(start.valid), .*);

    preemption_unit unit (
        .clk, .rst, .kernels, .resident, .claim, .release_(released), .command_payload, .command_valid,
        .command_ready, .result, .admit_payload(admit), .admit_valid, .admit_ready(!admitted.valid), .admitted,
        .core_stop_pending(pending), .core_stop_stop_now(stop_now), .core_stop_stopped(stopped),
        .core_stop_exited(exited), .core_stop_issued(1'b0), .core_stop_issuer(1'b0),
        .core_warps_save_window_select(select), .core_warps_save_window_view(view),
        .core_warps_save_uniforms_written(32'b0), .core_warps_save_uniform_values(64'b0),
        .core_registers_flags_warp(flags_warp), .core_registers_flags_valid(flags_valid),
        .core_registers_flags_dirty(flags_valid), .core_registers_flags_predicates_written(7'b0),
        .core_registers_flags_predicate_value(8'b0), .core_registers_read_payload(read),
        .core_registers_read_valid(read_valid), .core_registers_read_ready(1'b1), .core_registers_read_data(read_data),
        .core_registers_restore_write_payload(write), .core_registers_restore_write_valid(write_valid),
        .core_registers_restore_write_ready(1'b1), .core_registers_restore_predicate_ready(1'b1),
        .core_registers_load_ready(1'b1), .core_shared_valid(1'b0),
        .core_shared_dirty(1'b0), .core_shared_row_ready(1'b1), .core_shared_row_data('0),
        .launch_warp_init_payload(init), .launch_warp_init_valid(init_valid), .launch_warp_init_ready(1'b1),
        .launch_stack_push_payload(push), .launch_stack_push_valid(push_valid), .launch_stack_push_ready(1'b1),
        .launch_start(start), .start(2'b0), .hasten(1'b0), .withdraw(1'b0), .cancel(1'b0), .discard(2'b0),
        .plan('0), .ended('0), .progress('0),
        .m_axi_awid, .m_axi_awaddr, .m_axi_awlen, .m_axi_awsize, .m_axi_awburst, .m_axi_awvalid, .m_axi_awready,
        .m_axi_wdata, .m_axi_wstrb, .m_axi_wlast, .m_axi_wvalid, .m_axi_wready,
        .m_axi_bid, .m_axi_bresp, .m_axi_bvalid, .m_axi_bready,
        .m_axi_arid, .m_axi_araddr, .m_axi_arlen, .m_axi_arsize, .m_axi_arburst, .m_axi_arvalid, .m_axi_arready,
        .m_axi_rid, .m_axi_rdata, .m_axi_rresp, .m_axi_rlast, .m_axi_rvalid, .m_axi_rready);
endmodule
