// The model of a block behind functions of C, which Python calls; PORTS is replaced by its ports by number.

#include <cstring>

#include "Vtop.h"
#include "verilated.h"
#include "verilated_cov.h"

double sc_time_stamp() { return 0; }

namespace {
struct Simulation {
    VerilatedContext context;
    Vtop top{&context, "top"};
};
}  // namespace

extern "C" {

Simulation* make() {
    auto* made = new Simulation;
    made->top.clk = 0;
    made->top.rst = 0;
    return made;
}

void settle(Simulation* simulation) { simulation->top.eval(); }

void edge(Simulation* simulation) {
    simulation->top.eval();
    simulation->top.clk = 1;
    simulation->top.eval();
    simulation->top.clk = 0;
    simulation->top.eval();
}

void set_port(Simulation* simulation, int number, const void* bits) {
    switch (number) {
#define PORT(n) case n: std::memcpy(static_cast<void*>(&simulation->top.p##n), bits, sizeof simulation->top.p##n); break;
        PORTS
#undef PORT
    }
}

void get_port(Simulation* simulation, int number, void* bits) {
    switch (number) {
#define PORT(n) case n: std::memcpy(bits, static_cast<const void*>(&simulation->top.p##n), sizeof simulation->top.p##n); break;
        PORTS
#undef PORT
    }
}

void finish(Simulation* simulation, const char* file) {
    simulation->top.final();
    simulation->context.coveragep()->write(file);
    delete simulation;
}

}  // extern "C"
