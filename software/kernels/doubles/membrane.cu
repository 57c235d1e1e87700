// A step of an excitable cell, one a thread: gates with their rates, currents, pumps and buffers in f64, in the spirit of
// Rodinia's myocyte. Straight code of exponentials, powers, logarithms, quotients and roots.
#define STATES 20

__device__ static double rate(double v, double a, double b, double c, double d)
{
    return a * exp((v + b) / c) / (1.0 + exp((v + b) / d));
}

__device__ static double settled(double v, double half, double slope)
{
    return 1.0 / (1.0 + exp((v - half) / slope));
}

__device__ static double hill(double x, double half, double order)
{
    double p = pow(x, order);
    return p / (p + pow(half, order));
}

extern "C" __global__ void membrane(const double *states, const double *constants, double *changes, int cells)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    const double *y = states + cell * STATES;
    double *dy = changes + cell * STATES;
    double v = y[0], sodium = y[1], potassium = y[2], calcium = y[3], store = y[4];
    double temperature = constants[0], sodium_out = constants[1], potassium_out = constants[2], calcium_out = constants[3];
    double volt = 8314.0 * temperature / 96485.0;
    double rev_sodium = volt * log(sodium_out / sodium), rev_potassium = volt * log(potassium_out / potassium);
    double rev_calcium = 0.5 * volt * log(calcium_out / calcium);
    double rev_slow = volt * log((potassium_out + 0.01833 * sodium_out) / (potassium + 0.01833 * sodium));

    double am = 0.32 * (v + 47.13) / (1.0 - exp(-0.1 * (v + 47.13))), bm = 0.08 * exp(-v / 11.0);
    double ah = v >= -40.0 ? 0.0 : 0.135 * exp((80.0 + v) / -6.8);
    double bh = v >= -40.0 ? 1.0 / (0.13 * (1.0 + exp((v + 10.66) / -11.1)))
                           : 3.56 * exp(0.079 * v) + 310000.0 * exp(0.35 * v);
    double aj = v >= -40.0 ? 0.0 : (-127140.0 * exp(0.2444 * v) - 3.474e-5 * exp(-0.04391 * v)) * (v + 37.78)
                                       / (1.0 + exp(0.311 * (v + 79.23)));
    double bj = v >= -40.0 ? 0.3 * exp(-2.535e-7 * v) / (1.0 + exp(-0.1 * (v + 32.0)))
                           : 0.1212 * exp(-0.01052 * v) / (1.0 + exp(-0.1378 * (v + 40.14)));
    dy[5] = am * (1.0 - y[5]) - bm * y[5];
    dy[6] = ah * (1.0 - y[6]) - bh * y[6];
    dy[7] = aj * (1.0 - y[7]) - bj * y[7];
    double fast = constants[4] * y[5] * y[5] * y[5] * y[6] * y[7] * (v - rev_sodium);

    double xs = settled(v, 1.5, -16.7), xs_time = 1.0 / (rate(v, 7.19e-5, 30.0, 1e9, -6.7) + rate(v, 1.31e-4, 30.0, 1e9, 14.5));
    double xr = settled(v, -21.5, -7.5), xr_time = 1.0 / (rate(v, 0.00138, 14.2, 1e9, -8.1) + rate(v, 6.1e-4, 38.9, 1e9, 6.9));
    double to = settled(v, -3.0, -15.0), to_time = 3.5 * exp(-v * v / 900.0) + 1.5;
    double ti = settled(v, -33.5, 10.0), ti_time = 20.0 / (1.0 + exp((v + 33.5) / 10.0)) + 20.0;
    double cd = settled(v, -14.5, -6.0), cd_time = cd * (1.0 - exp(-(v + 14.5) / 6.0)) / (0.035 * (v + 14.5));
    double cf = settled(v, -35.06, 3.6) + 0.6 / (1.0 + exp((50.0 - v) / 20.0));
    double cf_time = 1.0 / (0.0197 * exp(-0.0337 * 0.0337 * (v + 14.5) * (v + 14.5)) + 0.02);
    dy[8] = (xs - y[8]) / xs_time;
    dy[9] = (xr - y[9]) / xr_time;
    dy[10] = (to - y[10]) / to_time;
    dy[11] = (ti - y[11]) / ti_time;
    dy[12] = (cd - y[12]) / cd_time;
    dy[13] = (cf - y[13]) / cf_time;

    double bound = y[3] / (y[3] + 7.0);
    dy[14] = 1.7 * y[3] * (1.0 - y[14]) - 0.0119 * y[14];
    double shift = v / volt;
    double pump = constants[5] / ((1.0 + pow(11.0 / sodium, 1.5)) * (1.0 + 0.1245 * exp(-0.1 * shift) + 0.0365 * exp(-shift)))
        * potassium_out / (potassium_out + 1.5);
    double up = exp(0.35 * shift) * pow(sodium, 3.0) * calcium_out, down = exp(-0.65 * shift) * pow(sodium_out, 3.0) * calcium;
    double exchanger = constants[6] * (up - down)
        / ((1.0 + pow(0.000256 / calcium, 2.0)) * (1.0 + 0.27 * exp(-0.65 * shift))
           * (0.00359 * pow(sodium_out, 3.0) * (1.0 + pow(sodium / 12.29, 3.0)) + pow(87.5, 3.0) * calcium * (1.0 + calcium / 0.00359)
              + up + down));
    double inward = constants[7] * sqrt(potassium_out / 5.4) * (v - rev_potassium)
        * (1.02 / (1.0 + exp(0.2385 * (v - rev_potassium - 59.215))))
        / (1.02 / (1.0 + exp(0.2385 * (v - rev_potassium - 59.215)))
           + (0.49124 * exp(0.08032 * (v + 5.476 - rev_potassium)) + exp(0.06175 * (v - rev_potassium - 594.31)))
               / (1.0 + exp(-0.5143 * (v - rev_potassium + 4.753))));
    double slow = constants[8] * y[8] * y[8] * (v - rev_slow), rapid = constants[9] * sqrt(potassium_out / 5.4) * y[9]
        * (v - rev_potassium) / (1.0 + exp((v + 33.0) / 22.4));
    double outward = constants[10] * y[10] * y[11] * (v - rev_potassium);
    double channel = constants[11] * y[12] * y[13] * (1.0 - bound) * shift * (0.341 * calcium * exp(2.0 * shift) - 0.341 * calcium_out)
        / (exp(2.0 * shift) - 1.0);
    double leak = constants[12] * (v - rev_calcium);

    double release = constants[13] * hill(store, 1.0, 2.5) * y[15] * (store - calcium);
    double refill = constants[14] * (pow(calcium / 0.000246, 1.787) - pow(store / 1.7, 1.787))
        / (1.0 + pow(calcium / 0.000246, 1.787) + pow(store / 1.7, 1.787));
    double csq = 0.14 * 0.65 / ((store + 0.65) * (store + 0.65)), tnc = 0.07 * 0.0006 / ((calcium + 0.0006) * (calcium + 0.0006));
    double buffered = 1.0 / (1.0 + csq), free = 1.0 / (1.0 + tnc + 0.024 * 0.0023 / ((calcium + 0.0023) * (calcium + 0.0023)));
    dy[15] = (hill(calcium, 0.0005, 2.0) - y[15]) / (1.0 + 5.0 / (1.0 + pow(calcium / 0.0002, 4.0)));
    dy[16] = (sqrt(calcium * store) - y[16]) / (2.0 + log(1.0 + store));
    dy[17] = (hill(sodium, 10.0, 1.36) - y[17]) / 40.0;
    dy[18] = (atan(v / 30.0) - y[18]) / (1.0 + fabs(v));
    dy[19] = (tanh(v / 25.0) - y[19]) / 15.0;
    dy[3] = free * (release - refill - (channel + leak - 2.0 * exchanger) / constants[15] + y[16] * 1e-6);
    dy[4] = buffered * (refill - release);
    dy[1] = -(fast + 3.0 * pump + 3.0 * exchanger) / constants[15];
    dy[2] = -(inward + rapid + outward + slow - 2.0 * pump) / constants[15];
    dy[0] = -(fast + slow + rapid + outward + inward + channel + leak + pump + exchanger) / (1.0 + y[17] * y[18] * y[19]);
}
