/* conv1d: y[m] = act(bias + sum_j w[j] x[m - taps + 1 + j]), each channel by itself, over one sequence's rows.  exact
 *
 *   x        f32 rows; the inputs before the first row of this step come from the sequence's slab
 *   channels a multiple of 8; the lanes that pad rows of y to whole groups become 0
 *   w        f32 [channels/8][taps][8]           bias  f32 row, 0: none
 *   state    f32 [taps - 1][channels]            inputs m - taps + 1 .. m - 1 of the next row, oldest first
 *   y        f32 rows and, where wanted, a8 rows
 *
 *   sum      bias, then j ascending
 *   tile     one sequence, CHANNELS channels, its rows in order: a row's inputs are still in the first-level cache when
 *            the next rows need them. Panel by panel over all rows would touch one line per row, and rows are often a
 *            power of two apart */
#include "core/kernel.h"
#include "rows/quantize.h"
#include "rows/swiglu.h"

enum { CHANNELS = 64, MAX_TAPS = 4 };

/* The input row at `place`, counted from the oldest kept input: from the state or from this step. */
INLINE const float *tap_at(const struct op_conv1d *op, const struct sequence *sequence, const float *state,
                           uint32_t place, const uint32_t taps) {
    return place < taps - 1 ? state + place * op->channels
                            : AT(const float *, op->x + (sequence->row0 + place - (taps - 1)) * op->x_stride);
}

/* The input rows that row r of a sequence sees. */
struct window { const float *tap[MAX_TAPS]; };
INLINE struct window window_of(const struct op_conv1d *op, const struct sequence *sequence, const float *state,
                               uint32_t r, const uint32_t taps) {
    struct window window;
    UNROLLED for (uint32_t j = 0; j < taps; j++) window.tap[j] = tap_at(op, sequence, state, r + j, taps);
    return window;
}

/* definition: OP_CONV1D */
void conv1d__ref(const struct op_conv1d *op, const struct step *step, uint32_t s) {
    const struct sequence *sequence = sequence_at(step, s);
    float *state = AT(float *, sequence->tables[op->group] + op->state_offset);
    const uint32_t kept = op->taps - 1;
    for (uint32_t r = 0; r < sequence->rows; r++) {
        const uint32_t m = sequence->row0 + r;
        const float *x = AT(const float *, op->x + m * op->x_stride);
        float *y = AT(float *, op->y + m * op->y_stride);
        for (uint32_t c = 0; c < op->channels; c++) {
            const float *w = AT(const float *, op->w) + c / PANEL * op->taps * PANEL + c % PANEL;
            float sum = op->bias ? AT(const float *, op->bias)[c] : 0;
            for (uint32_t j = 0; j < kept; j++) sum = sum + w[j * PANEL] * state[j * op->channels + c];
            sum = sum + w[kept * PANEL] * x[c];
            y[c] = activated__ref(sum, op->activation);
            for (uint32_t j = 0; j + 1 < kept; j++) state[j * op->channels + c] = state[(j + 1) * op->channels + c];
            state[(kept - 1) * op->channels + c] = x[c];
        }
        for (uint32_t c = op->channels; c < round_up(op->channels, GROUP); c++) y[c] = 0;
        for (uint32_t g = 0; op->q && g * GROUP < op->channels; g++) {
            quantize_into__ref(AT(int8_t *, op->q + m * op->q_stride), op->channels, g, y + g * GROUP);
        }
    }
}

INLINE void convolve(const struct op_conv1d *op, const struct sequence *sequence, uint32_t from, uint32_t to,
                     const uint32_t taps) {
    const struct exp_constants constants = exp_constants();
    float *state = AT(float *, sequence->tables[op->group] + op->state_offset);
    for (uint32_t r = 0; r < sequence->rows; r++) {
        const uint32_t m = sequence->row0 + r;
        const struct window in = window_of(op, sequence, state, r, taps);
        float *y = AT(float *, op->y + m * op->y_stride);
        for (uint32_t c = from; c < to; c += GROUP) {
            v128_t v[GROUP / 4] = {0};
            ROLLED for (uint32_t i = 0; i < min_u32(GROUP, to - c); i += PANEL) {
                const float *w = AT(const float *, op->w) + (c + i) * taps;
                UNROLLED for (uint32_t half = 0; half < PANEL; half += 4) {
                    v128_t sum = op->bias ? load(AT(const float *, op->bias) + c + i + half) : splat(0);
                    UNROLLED for (uint32_t j = 0; j < taps; j++) {
                        sum = add(sum, mul(load(w + j * PANEL + half), load(in.tap[j] + c + i + half)));
                    }
                    v[(i + half) / 4] = activated(sum, &constants, op->activation);
                }
            }
            store_group(y + c, v);
            if (op->q) quantize_into(AT(int8_t *, op->q + m * op->q_stride), op->channels, c / GROUP, v);
        }
    }
    /* Stores the inputs that the next step's first row sees, oldest first. Each is read before it is overwritten. */
    const struct window next = window_of(op, sequence, state, sequence->rows, taps);
    UNROLLED for (uint32_t j = 0; j + 1 < taps; j++) {
        for (uint32_t c = from; c < to; c += 4) store(state + j * op->channels + c, load(next.tap[j] + c));
    }
}

/* Any number of taps. Unrolled forms of more than MAX_TAPS would make every page's module larger. */
static void convolve_many(const struct op_conv1d *op, const struct sequence *sequence, uint32_t from, uint32_t to) {
    const struct exp_constants constants = exp_constants();
    float *state = AT(float *, sequence->tables[op->group] + op->state_offset);
    for (uint32_t r = 0; r < sequence->rows; r++) {
        const uint32_t m = sequence->row0 + r;
        float *y = AT(float *, op->y + m * op->y_stride);
        for (uint32_t c = from; c < to; c += GROUP) {
            v128_t v[GROUP / 4] = {0};
            ROLLED for (uint32_t i = 0; i < min_u32(GROUP, to - c); i += 4) {
                const float *w = AT(const float *, op->w) + (c + i) / PANEL * PANEL * op->taps + i % PANEL;
                v128_t sum = op->bias ? load(AT(const float *, op->bias) + c + i) : splat(0);
                ROLLED for (uint32_t j = 0; j < op->taps; j++) {
                    sum = add(sum, mul(load(w + j * PANEL), load(tap_at(op, sequence, state, r + j, op->taps) + c + i)));
                }
                v[i / 4] = activated(sum, &constants, op->activation);
            }
            store_group(y + c, v);
            if (op->q) quantize_into(AT(int8_t *, op->q + m * op->q_stride), op->channels, c / GROUP, v);
        }
    }
    ROLLED for (uint32_t j = 0; j + 1 < op->taps; j++) {
        const float *next = tap_at(op, sequence, state, sequence->rows + j, op->taps);
        for (uint32_t c = from; c < to; c += 4) store(state + j * op->channels + c, load(next + c));
    }
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    return step->sequences * ((((const struct op_conv1d *)o)->channels + CHANNELS - 1) / CHANNELS);
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    const struct op_conv1d *op = (const struct op_conv1d *)o;
    const struct sequence *sequence = sequence_at(step, t % step->sequences);
    const uint32_t from = t / step->sequences * CHANNELS, to = min_u32(from + CHANNELS, op->channels);
    if (op->taps == 4) convolve(op, sequence, from, to, 4);
    else if (op->taps == 3) convolve(op, sequence, from, to, 3);
    else if (op->taps == 2) convolve(op, sequence, from, to, 2);
    else convolve_many(op, sequence, from, to);
}

/* kernel: OP_CONV1D conv1d plain */
const struct kernel conv1d = {tiles, tile};
