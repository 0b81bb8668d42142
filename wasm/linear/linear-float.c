/* linear_f32, linear_f16, linear_bf16: y[m][n] = sum_k w[n][k] x[m][k] + bias[n].                              exact
 *
 *   w    [N32/8][K][8] elements: the 8 outputs of a panel side by side, input by input
 *   x    f32 rows
 *
 *   y[n] = (((w[n][0] * x[0]) + w[n][1] * x[1]) + ...)      k ascending, one sum per output, no fused multiply-add
 *
 *   tile  4 panels far apart (N is padded to 4 panels, so every tile is whole). Eight vector sums hide the latency of
 *         an addition: 4 panels of one row, 2 panels of two rows, or one panel of three or four rows. */
#include "linear/linear.h"

INLINE float element__ref(const void *w, uint32_t i, enum encoding encoding) {
    if (encoding == ENC_F32) return ((const float *)w)[i];
    const uint16_t h = ((const uint16_t *)w)[i];
    return encoding == ENC_F16 ? half__ref(h) : bfloat__ref(h);
}
INLINE void linear__ref(const struct op_linear *op, uint32_t m, enum encoding encoding) {
    const float *x = AT(const float *, op->x + m * op->x_stride);
    for (uint32_t n = 0; n < round_up(op->n, 32); n++) {
        float acc = 0;
        for (uint32_t k = 0; k < op->k; k++) {
            acc = acc + element__ref(AT(const void *, op->w), (n / PANEL * op->k + k) * PANEL + n % PANEL, encoding) * x[k];
        }
        write_one__ref(op, m, n, acc);
    }
}
/* definition: OP_LINEAR_F32 */
void linear_f32__ref(const struct op_linear *op, uint32_t m) { linear__ref(op, m, ENC_F32); }
/* definition: OP_LINEAR_F16 */
void linear_f16__ref(const struct op_linear *op, uint32_t m) { linear__ref(op, m, ENC_F16); }
/* definition: OP_LINEAR_BF16 */
void linear_bf16__ref(const struct op_linear *op, uint32_t m) { linear__ref(op, m, ENC_BF16); }

INLINE uint32_t input_bytes(enum encoding encoding) { return encoding == ENC_F32 ? PANEL * 4 : PANEL * 2; }

/* The 8 weights of one input as two vectors. */
INLINE void load_panel(v128_t *low, v128_t *high, const uint8_t *w, enum encoding encoding,
                       struct half_constants halves) {
    const v128_t v = load(w);
    if (encoding == ENC_F32) {
        *low = v;
        *high = load(w + 16);
    } else {
        *low = widen_low(v);
        *high = widen_high(v);
    }
    if (encoding == ENC_F16) {
        *low = half(*low, halves);
        *high = half(*high, halves);
    }
}

/* `panels` panels, the first at `panel`, `stride` apart, times rows m..m + tokens. */
INLINE void register_tile(const struct op_linear *op, uint32_t panel, uint32_t stride, const int panels, uint32_t m,
                          const int tokens, enum encoding encoding) {
    const uint32_t bytes = input_bytes(encoding), far = stride * op->k * bytes;
    const uint8_t *w = AT(const uint8_t *, op->w) + panel * op->k * bytes;
    const uint8_t *x = AT(const uint8_t *, op->x + m * op->x_stride);
    const struct half_constants halves = half_constants();
    v128_t acc[4][4][2];
    UNROLLED for (int p = 0; p < panels; p++) {
        UNROLLED for (int t = 0; t < tokens; t++) acc[p][t][0] = acc[p][t][1] = splat(0);
    }
    const uint32_t x_stride = op->x_stride;
    ROLLED for (uint32_t k = op->k; k > 0; k--, w += bytes, x += 4) {
        UNROLLED for (int p = 0; p < panels; p++) {
            v128_t low, high;
            load_panel(&low, &high, w + (uint32_t)p * far, encoding, halves);
            UNROLLED for (int t = 0; t < tokens; t++) {
                const v128_t in = load_splat(x + (uint32_t)t * x_stride);
                acc[p][t][0] = add(acc[p][t][0], mul(low, in));
                acc[p][t][1] = add(acc[p][t][1], mul(high, in));
            }
        }
    }
    UNROLLED for (int p = 0; p < panels; p++) {
        UNROLLED for (int t = 0; t < tokens; t++) {
            const uint32_t from = panel + (uint32_t)p * stride;
            write_panel(op, m + (uint32_t)t, from, from, acc[p][t][0], acc[p][t][1]);
        }
    }
}

INLINE void tile(const struct op *o, const struct step *step, uint32_t t, enum encoding encoding) {
    const struct op_linear *op = (const struct op_linear *)o;
    const struct span span = linear_span(op, step, t, TOKEN_TILE);
    const uint32_t fours = span.m0 + (span.m1 - span.m0) / 4 * 4, rest = span.m1 - fours;
    for (uint32_t p = 0; p < STREAMS * span.width; p++) {
        const uint32_t panel = of_stream(span.w, p % STREAMS) + p / STREAMS;
        for (uint32_t m = span.m0; m < fours; m += 4) register_tile(op, panel, span.w.near, 1, m, 4, encoding);
        if (rest == 3) register_tile(op, panel, span.w.near, 1, fours, 3, encoding);
        if (rest == 2 && p % STREAMS < 2) register_tile(op, panel, span.w.far, 2, fours, 2, encoding);
    }
    for (uint32_t i = 0; rest == 1 && i < span.width; i++) {
        register_tile(op, span.w.first + i, span.w.near, 4, fours, 1, encoding);
    }
}

static void tile_f32(const struct op *op, const struct step *step, uint32_t t) { tile(op, step, t, ENC_F32); }
static void tile_f16(const struct op *op, const struct step *step, uint32_t t) { tile(op, step, t, ENC_F16); }
static void tile_bf16(const struct op *op, const struct step *step, uint32_t t) { tile(op, step, t, ENC_BF16); }

/* kernel: OP_LINEAR_F32 linear_f32 plain */
const struct kernel linear_f32 = {linear_tiles, tile_f32};
/* kernel: OP_LINEAR_F16 linear_f16 plain */
const struct kernel linear_f16 = {linear_tiles, tile_f16};
/* kernel: OP_LINEAR_BF16 linear_bf16 plain */
const struct kernel linear_bf16 = {linear_tiles, tile_bf16};
