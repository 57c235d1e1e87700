// The AXI4 port of the export control_unit: what takes responses does not follow them without a clock edge.

#include "Vcontrol_unit.h"
#include "verilated.h"
#include <cstdio>

int main() {
    auto *dut = new Vcontrol_unit;
    int wrong = 0;
    for (int i = 0; i < 23; i++) {
        dut->rst = i < 3;
        dut->clk = 0;
        dut->eval();
        dut->clk = 1;
        dut->eval();
    }
    dut->clk = 0;
    dut->eval();
    const int bready = dut->m_axi_bready, rready = dut->m_axi_rready;
    for (int id = 0; id < 8; id++)
        for (int valid = 0; valid < 2; valid++) {
            dut->m_axi_bid = dut->m_axi_rid = id;
            dut->m_axi_bvalid = dut->m_axi_rvalid = valid;
            dut->eval();
            if (dut->m_axi_bready != bready || dut->m_axi_rready != rready) {
                wrong++;
                printf("id %d, valid %d: bready %d, rready %d\n", id, valid, dut->m_axi_bready, dut->m_axi_rready);
            }
        }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
