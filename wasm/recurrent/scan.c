/* scan: the selective scan of Mamba (Gu and Dao, 2023, algorithm 2) with its gate, over one sequence's rows.   exact
 *
 *   delta = softplus(dt)                                      softplus.h
 *   h[n]  = 2^(delta decay[n]) h[n] + (delta u) b[n]          exp2.h; decay = A log2(e), at most 0
 *   y     = ((h[0] c[0] + h[1] c[1] + ...) + skip u) silu(z)  n ascending, one sum per channel
 *
 *   u, dt, z   f32 rows of `channels`        b, c   f32 rows of `states`, the same for all channels
 *   decay      f32 [channels/8][states][8]   skip   f32 row
 *   state      f32 [channels/8][states][8]   in the sequence's slab: h after the last row
 *   y          f32 rows and/or a8 rows; 0 means not wanted
 *
 *   tile       one sequence, CHANNELS channels, its rows in order: 2 KB of state and 2 KB of decay stay in the
 *              first-level cache. A chunk of rows then reads and writes memory as often as one row does */
#include "simd/exp2.h"
#include "core/kernel.h"
#include "rows/quantize.h"
#include "simd/softplus.h"
#include "rows/swiglu.h"

/* ABREAST: vectors of step sizes and of gates that are computed together. A single one would stall on its own
   results. */
enum { CHANNELS = GROUP, ABREAST = 2 };

/* definition: OP_SCAN */
void scan__ref(const struct op_scan *op, const struct step *step, uint32_t s) {
    const struct sequence *sequence = sequence_at(step, s);
    float *state = AT(float *, sequence->tables[op->group] + op->state_offset);
    for (uint32_t m = sequence->row0; m < sequence->row0 + sequence->rows; m++) {
        const float *u = AT(const float *, op->u + m * op->u_stride), *dt = AT(const float *, op->dt + m * op->dt_stride);
        const float *b = AT(const float *, op->b + m * op->b_stride), *c = AT(const float *, op->c + m * op->c_stride);
        const float *z = AT(const float *, op->z + m * op->z_stride);
        for (uint32_t first = 0; first < op->channels; first += GROUP) {
            float v[GROUP];
            for (uint32_t i = 0; i < GROUP; i++) {
                const uint32_t channel = first + i, panel = channel / PANEL * op->states * PANEL + channel % PANEL;
                const float *decay = AT(const float *, op->decay) + panel;
                float *h = state + panel, sum = 0;
                const float delta = softplus__ref(dt[channel]), input = delta * u[channel];
                for (uint32_t n = 0; n < op->states; n++) {
                    h[n * PANEL] = exp2__ref(delta * decay[n * PANEL]) * h[n * PANEL] + input * b[n];
                    sum = sum + h[n * PANEL] * c[n];
                }
                v[i] = (sum + AT(const float *, op->skip)[channel] * u[channel]) * silu__ref(z[channel]);
            }
            if (op->y) __builtin_memcpy(AT(float *, op->y + m * op->y_stride) + first, v, sizeof v);
            if (op->q) quantize_into__ref(AT(int8_t *, op->q + m * op->q_stride), op->channels, first / GROUP, v);
        }
    }
}

/* Updates `states` states from n on of one panel by one row, and adds them to the sums. Operands that the exponentials
   do not need are loaded after them, because the exponentials fill the registers. */
INLINE void advance(v128_t sum[2], const v128_t delta[2], const v128_t input[2], const float *decay, float *h,
                    const float *b, const float *c, const int states, const struct exp2_constants *constants) {
    v128_t factor[4], next[4];
    UNROLLED for (int i = 0; i < 2 * states; i++) factor[i] = mul(delta[i % 2], load(decay + 4 * i));
    exp2_vectors(factor, 2 * states, constants);
    UNROLLED for (int i = 0; i < 2 * states; i++) {
        next[i] = add(mul(factor[i], load(h + 4 * i)), mul(input[i % 2], load_splat(b + i / 2)));
    }
    UNROLLED for (int i = 0; i < 2 * states; i++) store(h + 4 * i, next[i]);
    UNROLLED for (int i = 0; i < 2 * states; i++) sum[i % 2] = add(sum[i % 2], mul(next[i], load_splat(c + i / 2)));
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    return step->sequences * (((const struct op_scan *)o)->channels / CHANNELS);
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    const struct op_scan *op = (const struct op_scan *)o;
    const struct sequence *sequence = sequence_at(step, t % step->sequences);
    const uint32_t first = t / step->sequences * CHANNELS, at = first * op->states;
    const struct exp_constants e = exp_constants();
    const struct exp2_constants constants = exp2_constants();
    for (uint32_t m = sequence->row0; m < sequence->row0 + sequence->rows; m++) {
        const float *u = AT(const float *, op->u + m * op->u_stride) + first;
        const float *dt = AT(const float *, op->dt + m * op->dt_stride) + first;
        const float *z = AT(const float *, op->z + m * op->z_stride) + first;
        const float *b = AT(const float *, op->b + m * op->b_stride), *c = AT(const float *, op->c + m * op->c_stride);
        const float *decay = AT(const float *, op->decay) + at;
        float *h = AT(float *, sequence->tables[op->group] + op->state_offset) + at;
        v128_t made[CHANNELS / 4], delta[CHANNELS / 4], input[CHANNELS / 4];
        ROLLED for (uint32_t i = 0; i < CHANNELS / 4; i += ABREAST) {
            UNROLLED for (uint32_t j = i; j < i + ABREAST; j++) {
                delta[j] = softplus(load(dt + 4 * j), &e);
                input[j] = mul(delta[j], load(u + 4 * j));
            }
        }
        ROLLED for (uint32_t i = 0; i < CHANNELS / 4; i += 2) {
            v128_t sum[2] = {splat(0), splat(0)};
            uint32_t n = 0;
            ROLLED for (; n + 2 <= op->states; n += 2, decay += 2 * PANEL, h += 2 * PANEL) {
                advance(sum, delta + i, input + i, decay, h, b + n, c + n, 2, &constants);
            }
            if (n < op->states) {
                advance(sum, delta + i, input + i, decay, h, b + n, c + n, 1, &constants);
                decay += PANEL;
                h += PANEL;
            }
            UNROLLED for (int j = 0; j < 2; j++) made[i + j] = sum[j];
        }
        ROLLED for (uint32_t i = 0; i < CHANNELS / 4; i += ABREAST) {
            UNROLLED for (uint32_t j = i; j < i + ABREAST; j++) {
                const v128_t skip = load(AT(const float *, op->skip) + first + 4 * j);
                made[j] = mul(add(made[j], mul(skip, load(u + 4 * j))), silu(load(z + 4 * j), &e));
            }
        }
        if (op->y) store_group(AT(float *, op->y + m * op->y_stride) + first, made);
        if (op->q) quantize_into(AT(int8_t *, op->q + m * op->q_stride), op->channels, first / GROUP, made);
    }
}

/* kernel: OP_SCAN scan plain */
const struct kernel scan = {tiles, tile};
