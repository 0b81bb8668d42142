/* conv1d: y[m] = act(bias + sum_j w[j] x[m - taps + 1 + j]), each channel on its own, over one sequence's rows.       exact
 *
 *   x        f32 rows; what lies before the first row of this step comes from the sequence's slab
 *   w        f32 [channels/8][taps][8]           bias  f32 row, 0: none
 *   state    f32 [channels/8][taps - 1][8]       inputs m - taps + 1 .. m - 1 of the next row, oldest first
 *   y        f32 rows and, where wanted, a8 rows
 *
 *   sum      bias, then j ascending
 *   tile     one sequence, CHANNELS channels, its rows in order: the window of one panel of 8 stays in registers */
#include "kernel.h"
#include "quantize.h"
#include "swiglu.h"

enum { CHANNELS = 64, MOST_TAPS = 4 };

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
            float *window = state + c / PANEL * kept * PANEL + c % PANEL;
            float sum = op->bias ? AT(const float *, op->bias)[c] : 0;
            for (uint32_t j = 0; j < kept; j++) sum = sum + w[j * PANEL] * window[j * PANEL];
            sum = sum + w[kept * PANEL] * x[c];
            y[c] = activated__ref(sum, op->activation);
            for (uint32_t j = 0; j + 1 < kept; j++) window[j * PANEL] = window[(j + 1) * PANEL];
            window[(kept - 1) * PANEL] = x[c];
        }
        for (uint32_t g = 0; op->q && g < op->channels / GROUP; g++) {
            quantize_into__ref(AT(int8_t *, op->q + m * op->q_stride), op->channels, g, y + g * GROUP);
        }
    }
}

/* All rows of one panel. */
INLINE void panel(const struct op_conv1d *op, const struct sequence *sequence, uint32_t p, const uint32_t taps,
                  const struct exp_constants *c) {
    const float *w = AT(const float *, op->w) + p * taps * PANEL;
    float *state = AT(float *, sequence->tables[op->group] + op->state_offset) + p * (taps - 1) * PANEL;
    const uint8_t *x = AT(const uint8_t *, op->x + sequence->row0 * op->x_stride) + p * PANEL * 4;
    uint8_t *y = AT(uint8_t *, op->y + sequence->row0 * op->y_stride) + p * PANEL * 4;
    for (uint32_t half = 0; half < PANEL; half += 4, x += 16, y += 16) {
        v128_t window[MOST_TAPS], weights[MOST_TAPS];
        UNROLLED for (uint32_t j = 0; j < taps; j++) weights[j] = load(w + j * PANEL + half);
        UNROLLED for (uint32_t j = 0; j + 1 < taps; j++) window[j] = load(state + j * PANEL + half);
        const v128_t bias = op->bias ? load(AT(const float *, op->bias) + p * PANEL + half) : splat(0);
        ROLLED for (uint32_t r = 0; r < sequence->rows; r++) {
            window[taps - 1] = load(x + r * op->x_stride);
            v128_t sum = bias;
            UNROLLED for (uint32_t j = 0; j < taps; j++) sum = add(sum, mul(weights[j], window[j]));
            store(y + r * op->y_stride, activated(sum, c, op->activation));
            UNROLLED for (uint32_t j = 0; j + 1 < taps; j++) window[j] = window[j + 1];
        }
        UNROLLED for (uint32_t j = 0; j + 1 < taps; j++) store(state + j * PANEL + half, window[j]);
    }
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    return step->sequences * ((((const struct op_conv1d *)o)->channels + CHANNELS - 1) / CHANNELS);
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    const struct op_conv1d *op = (const struct op_conv1d *)o;
    const struct sequence *sequence = sequence_at(step, t % step->sequences);
    const uint32_t from = t / step->sequences * CHANNELS, to = min_u32(from + CHANNELS, op->channels);
    const struct exp_constants c = exp_constants();
    for (uint32_t p = from / PANEL; p < to / PANEL; p++) {
        if (op->taps == 4) panel(op, sequence, p, 4, &c);
        else if (op->taps == 3) panel(op, sequence, p, 3, &c);
        else panel(op, sequence, p, 2, &c);
    }
    for (uint32_t m = sequence->row0; op->q && m < sequence->row0 + sequence->rows; m++) {
        for (uint32_t g = from / GROUP; g < to / GROUP; g++) {
            v128_t v[8];
            load_group(v, AT(const float *, op->y + m * op->y_stride) + g * GROUP);
            quantize_into(AT(int8_t *, op->q + m * op->q_stride), op->channels, g, v);
        }
    }
}

const struct kernel conv1d = {tiles, tile};
