// The AXI4-Lite port of the export axi_registers: its handshakes with any delays, what it answers, and that no output
// follows an input without a clock edge. Prints what is wrong; exits with 1 if something is.

#include "Vaxi_registers.h"
#include "verilated.h"
#include <cstdio>
#include <cstdlib>

static Vaxi_registers *dut;
static long cycle = 0;
static int wrong = 0;
static const unsigned PATIENCE = 0x1c;
static const int OKAY = 0, LIMIT = 60;

#define CHECK(holds, ...)                         \
    do {                                          \
        if (!(holds)) {                           \
            wrong++;                              \
            printf("cycle %ld: ", cycle);         \
            printf(__VA_ARGS__);                  \
            puts("");                             \
        }                                         \
    } while (0)

static void settle() { dut->clk = 0; dut->eval(); }
static void tick() { settle(); dut->clk = 1; dut->eval(); cycle++; settle(); }
static void idle() {
    dut->s_axi_awvalid = dut->s_axi_wvalid = dut->s_axi_bready = dut->s_axi_arvalid = dut->s_axi_rready = 0;
}
static void reset(int cycles) {
    dut->rst = 1;
    for (int i = 0; i < cycles; i++) tick();
    dut->rst = 0;
    settle();
}

// Writes a register; address, data and the taking of the answer come after so many cycles.
static int write(unsigned address, unsigned data, unsigned strobes, int aw_after, int w_after, int b_after) {
    bool aw = false, w = false, done = false;
    int answered = -1, response = -1;
    for (int t = 0; t < LIMIT && !done; t++) {
        dut->s_axi_awvalid = !aw && t >= aw_after;
        dut->s_axi_awaddr = address;
        dut->s_axi_wvalid = !w && t >= w_after;
        dut->s_axi_wdata = data;
        dut->s_axi_wstrb = strobes;
        settle();
        if (dut->s_axi_bvalid && answered < 0) {
            answered = t;
            response = dut->s_axi_bresp;
            CHECK(aw && w, "an answer before address and data");
        }
        CHECK(answered < 0 || (dut->s_axi_bvalid && dut->s_axi_bresp == response), "the answer changed");
        dut->s_axi_bready = answered >= 0 && t >= answered + b_after;
        settle();
        const bool aw_goes = dut->s_axi_awvalid && dut->s_axi_awready, w_goes = dut->s_axi_wvalid && dut->s_axi_wready;
        done = dut->s_axi_bvalid && dut->s_axi_bready;
        tick();
        aw |= aw_goes;
        w |= w_goes;
    }
    idle();
    settle();
    CHECK(done, "a write of %x has no end", address);
    return response;
}

static int read(unsigned address, int r_after, unsigned &data) {
    bool ar = false, done = false;
    int answered = -1, response = -1;
    for (int t = 0; t < LIMIT && !done; t++) {
        dut->s_axi_arvalid = !ar;
        dut->s_axi_araddr = address;
        settle();
        if (dut->s_axi_rvalid && answered < 0) {
            answered = t;
            response = dut->s_axi_rresp;
            data = dut->s_axi_rdata;
            CHECK(ar, "an answer before the address");
        }
        CHECK(answered < 0 || (dut->s_axi_rvalid && dut->s_axi_rdata == data), "what is read changed");
        dut->s_axi_rready = answered >= 0 && t >= answered + r_after;
        settle();
        const bool ar_goes = dut->s_axi_arvalid && dut->s_axi_arready;
        done = dut->s_axi_rvalid && dut->s_axi_rready;
        tick();
        ar |= ar_goes;
    }
    idle();
    settle();
    CHECK(done, "a read of %x has no end", address);
    return response;
}

static void delays_and_strobes() {
    unsigned found = 0;
    for (int aw = 0; aw < 6; aw++)
        for (int w = 0; w < 6; w++)
            for (int b = 0; b < 6; b++) {
                const unsigned value = 0x1000 + aw * 64 + w * 8 + b;
                CHECK(write(PATIENCE, value, 15, aw, w, b) == OKAY, "a write is refused");
                CHECK(read(PATIENCE, b, found) == OKAY && found == value, "%x is %x", value, found);
            }
    for (unsigned strobes = 0; strobes < 15; strobes++) {
        write(PATIENCE, 0xaabbccdd, 15, 0, 0, 0);
        const int response = write(PATIENCE, 0x11223344, strobes, 0, 0, 0);
        read(PATIENCE, 0, found);
        CHECK(found == 0xaabbccdd && (response != OKAY) == (strobes != 0), "strobes %x: %d, %x", strobes, response, found);
    }
}

static void resets() {
    unsigned found = 0;
    dut->s_axi_awvalid = dut->s_axi_wvalid = dut->s_axi_arvalid = 1;
    dut->s_axi_awaddr = dut->s_axi_araddr = PATIENCE;
    for (int i = 0; i < 6; i++) tick();
    CHECK(dut->s_axi_bvalid && dut->s_axi_rvalid, "no answers to be forgotten");
    idle();
    reset(1);
    CHECK(!dut->s_axi_bvalid && !dut->s_axi_rvalid, "answers after a reset");
    dut->rst = 1;
    dut->s_axi_awvalid = dut->s_axi_wvalid = 1;
    dut->s_axi_wdata = 9;
    tick();
    tick();
    idle();
    dut->rst = 0;
    settle();
    for (int i = 0; i < 4; i++) tick();
    CHECK(!dut->s_axi_bvalid, "an answer to a write during a reset");
    read(PATIENCE, 0, found);
    CHECK(found != 9, "a write during a reset has an effect");
}

static void answers_that_nobody_takes() {
    int taken = 0, answered = 0;
    unsigned found = 0;
    for (int i = 0; i < 20; i++) {
        dut->s_axi_awvalid = dut->s_axi_wvalid = 1;
        dut->s_axi_awaddr = PATIENCE;
        dut->s_axi_wdata = 100 + taken;
        dut->s_axi_wstrb = 15;
        settle();
        const bool goes = dut->s_axi_awready && dut->s_axi_wready;
        tick();
        taken += goes;
    }
    idle();
    dut->s_axi_bready = 1;
    for (int i = 0; i < 20; i++) {
        settle();
        answered += dut->s_axi_bvalid;
        tick();
    }
    idle();
    CHECK(taken > 0 && taken < 20 && taken == answered, "%d taken, %d answered", taken, answered);
    read(PATIENCE, 0, found);
    CHECK(found == 99u + taken, "the last write is %u", found);
}

static void streams() {
    long writes = 0, reads = 0;
    unsigned last = 0;
    bool aw = false, w = false;
    srand(5);
    for (int i = 0; i < 20000; i++) {
        dut->s_axi_awvalid = !aw && (dut->s_axi_awvalid || rand() % 2);
        dut->s_axi_wvalid = !w && (dut->s_axi_wvalid || rand() % 3 == 0);
        dut->s_axi_awaddr = dut->s_axi_araddr = PATIENCE;
        dut->s_axi_wdata = 1000 + writes;
        dut->s_axi_wstrb = 15;
        dut->s_axi_bready = rand() % 2;
        dut->s_axi_arvalid = dut->s_axi_arvalid || rand() % 2;
        dut->s_axi_rready = rand() % 2;
        settle();
        const bool aw_goes = dut->s_axi_awvalid && dut->s_axi_awready, w_goes = dut->s_axi_wvalid && dut->s_axi_wready;
        const bool ar_goes = dut->s_axi_arvalid && dut->s_axi_arready, r_goes = dut->s_axi_rvalid && dut->s_axi_rready;
        const unsigned value = dut->s_axi_rdata;
        tick();
        aw |= aw_goes;
        w |= w_goes;
        if (aw_goes) dut->s_axi_awvalid = 0;
        if (w_goes) dut->s_axi_wvalid = 0;
        if (aw && w) {
            aw = w = false;
            writes++;
        }
        if (ar_goes) dut->s_axi_arvalid = 0;
        if (r_goes) {
            CHECK(!reads || value >= last, "reads went back: %u after %u", value, last);
            last = value;
            reads++;
        }
    }
    CHECK(writes > 2000 && reads > 2000, "%ld writes, %ld reads", writes, reads);
    idle();
    dut->s_axi_bready = dut->s_axi_rready = 1;
    for (int i = 0; i < 10; i++) tick();
    idle();
    settle();
}

// Changes each input of the bus without a clock edge, in many states; no output may change.
static void paths() {
    CData *inputs[] = {&dut->s_axi_awvalid, &dut->s_axi_wvalid, &dut->s_axi_bready, &dut->s_axi_arvalid,
                       &dut->s_axi_rready, &dut->s_axi_wstrb};
    reset(2);
    for (int i = 0; i < 400; i++) {
        for (CData *input : inputs) *input = rand() % 2;
        settle();
        const int awready = dut->s_axi_awready, wready = dut->s_axi_wready, arready = dut->s_axi_arready;
        const int bvalid = dut->s_axi_bvalid, rvalid = dut->s_axi_rvalid;
        for (int k = 0; k < 6; k++) {
            *inputs[k] ^= 1;
            dut->eval();
            CHECK(awready == dut->s_axi_awready && wready == dut->s_axi_wready && arready == dut->s_axi_arready
                      && bvalid == dut->s_axi_bvalid && rvalid == dut->s_axi_rvalid,
                  "input %d is followed without a clock edge", k);
            *inputs[k] ^= 1;
        }
        tick();
    }
}

int main() {
    dut = new Vaxi_registers;
    idle();
    dut->s_axi_wstrb = 15;
    reset(3);
    CHECK(!dut->s_axi_bvalid && !dut->s_axi_rvalid, "answers after the first reset");
    delays_and_strobes();
    resets();
    answers_that_nobody_takes();
    streams();
    paths();
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
