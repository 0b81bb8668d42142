/* linear_w4a8_channel: y[m][n] = sum_k W[n][k] x[m][k] + bias[n]. 4-bit weights with one scale per output, 8-bit
 * activations with one scale per row.                                                                          exact
 *
 *   n  output, padded to 32 by zero rows       panel p = n / 8, row i = n % 8
 *   k  input, padded to 32 by zero codes       group g = k / 32, G groups
 *
 *   w     [N32/8] panels | 4 u32: f16 scale of row i, f16 scale of row i + 4 | [G] blocks of 8 vectors |
 *         vector j: 16 bytes [row 0..3][input 4j..4j+3], low nibbles rows 0-3, high nibbles rows 4-7
 *   x     a8 row whose groups have the same scale sx: quantize.h makes it for ops with `whole`
 *
 *   y[n] = float(sum_k (code - 8) * qx) * (half_unit(f16) * (sx * SCALE_UNIT)).  Then bias, then the old y.
 *
 *   The sum is an integer throughout: i32 holds it for k below 2^31 / (8 * 128), 2 million. The -8 is applied once per
 *   row of x: sums start at -8 times the sum of its codes.
 *
 *   tile  as in linear-w4.c: four panels far apart, group by group, up to TOKEN_TILE rows at a time. There is no work
 *         between two groups, so this is as fast for many rows as laid weights are. In simd128, it is slower, so that
 *         build uses linear-many.h
 *
 *   Where the sums of four panels exceed the registers, the sums of a panel are loaded before its block and stored
 *   after it. */
/* forms: quads, pairs, products */
#include "linear/linear-many.h"

enum { BLOCK = 128, SCALES = 16 };

/* definition: OP_LINEAR_W4A8_CHANNEL */
void DOTS(linear_w4a8_channel__ref)(const struct op_linear *op, uint32_t m) {
    const uint32_t G = round_up(op->k, GROUP) / GROUP;
    int8_t *x = AT(int8_t *, op->x + m * op->x_stride);
    for (uint32_t n = 0; n < round_up(op->n, 32); n++) {
        const uint32_t i = n % PANEL;
        const uint8_t *panel = AT(const uint8_t *, op->w) + n / PANEL * (SCALES + G * BLOCK);
        int32_t dot = 0;
        for (uint32_t k = 0; k < G * GROUP; k++) {
            const uint8_t byte = panel[SCALES + k / GROUP * BLOCK + k % GROUP / 4 * 16 + i % 4 * 4 + k % 4];
            dot += ((i < 4 ? byte & 15 : byte >> 4) - 8) * x[k];
        }
        const float s = half_unit__ref(((const uint16_t *)panel)[i % 4 * 2 + i / 4]);
        write_one__ref(op, m, n, (float)dot * (s * (a8_scales(x, op->k)[0] * SCALE_UNIT)));
    }
}

/* The initial sums of row m. */
INLINE v128_t start_of(const struct op_linear *op, uint32_t m) {
    const uint32_t G = round_up(op->k, GROUP) / GROUP;
    const int32_t *sums = a8_sums(AT(int8_t *, op->x + m * op->x_stride), op->k);
    int32_t sum = 0;
    for (uint32_t g = 0; g < G; g++) sum += sums[g];
    return wasm_i32x4_splat(-8 * sum);
}

/* The outputs of one panel and one row. */
INLINE void finish(const struct op_linear *op, uint32_t m, uint32_t panel, uint32_t y_panel, v128_t low, v128_t high) {
    const uint32_t bytes = SCALES + round_up(op->k, GROUP) / GROUP * BLOCK;
    const v128_t scales = load(AT(const uint8_t *, op->w) + panel * bytes);
    const v128_t sx = splat(a8_scales(AT(int8_t *, op->x + m * op->x_stride), op->k)[0] * SCALE_UNIT);
    write_panel(op, m, panel, y_panel, mul(wasm_f32x4_convert_i32x4(low), mul(half_unit_low(scales), sx)),
                mul(wasm_f32x4_convert_i32x4(high), mul(half_unit_high(scales), sx)));
}

/* Rows m..m + tokens of one tile. */
INLINE void channel_rows(const struct op_linear *op, const struct span *span, uint32_t m, const int tokens) {
    const uint32_t stride = op->x_stride, G = round_up(op->k, GROUP) / GROUP, bytes = SCALES + G * BLOCK;
    const struct four streams = {0, span->w.near * bytes, span->w.far * bytes};
    const uint8_t *w = AT(const uint8_t *, op->w) + span->w.first * bytes + SCALES;
    const int8_t *x = AT(int8_t *, op->x + m * stride);
    const struct masks unpack = masks();
    v128_t sums[STREAMS][2][TOKEN_TILE], (*acc)[2][TOKEN_TILE] = sums;
    if (tokens > (int)min_u32(2, MAX_IN_REGISTERS)) IN_MEMORY(acc);
    UNROLLED for (int t = 0; t < tokens; t++) {
        const v128_t start = start_of(op, m + (uint32_t)t);
        UNROLLED for (int p = 0; p < STREAMS; p++) acc[p][0][t] = acc[p][1][t] = start;
    }
    for (uint32_t g = 0; g < G; g++, w += BLOCK, x += GROUP) {
        struct activations qx[TOKEN_TILE];
        UNROLLED for (int t = 0; t < tokens; t++) prepare(&qx[t], x + (uint32_t)t * stride);
        UNROLLED for (uint32_t p = 0; p < STREAMS; p++) {
            v128_t low[TOKEN_TILE], high[TOKEN_TILE];
            UNROLLED for (int t = 0; t < tokens; t++) {
                low[t] = ADDS_LAST ? wasm_i32x4_splat(0) : acc[p][0][t];
                high[t] = ADDS_LAST ? wasm_i32x4_splat(0) : acc[p][1][t];
            }
            dot_nibbles(low, high, w + of_stream(streams, p), 16, qx, unpack, tokens);
            UNROLLED for (int t = 0; t < tokens; t++) {
                acc[p][0][t] = ADDS_LAST ? wasm_i32x4_add(acc[p][0][t], low[t]) : low[t];
                acc[p][1][t] = ADDS_LAST ? wasm_i32x4_add(acc[p][1][t], high[t]) : high[t];
            }
        }
    }
    UNROLLED for (uint32_t p = 0; p < STREAMS; p++) {
        const uint32_t panel = of_stream(span->w, p), y_panel = of_stream(span->y, p);
        UNROLLED for (int t = 0; t < tokens; t++) finish(op, m + (uint32_t)t, panel, y_panel, acc[p][0][t], acc[p][1][t]);
    }
}

ADD_LAID_ROWS(add_channel_rows, add_integers)
INLINE void lay_channel(struct laid *laid, const uint8_t *block, struct masks masks) {
    lay_nibbles(laid->codes, block, masks);
}

linear_product DOTS(linear_w4a8_channel_product);
void DOTS(linear_w4a8_channel_product)(const struct op_linear *op, const struct span *span) {
    if (LAYS_NIBBLES && span->m1 - span->m0 >= MANY) {
        return many_rows(op, span, (struct block_layout){SCALES, BLOCK, 8}, lay_channel, add_channel_rows, finish);
    }
    BY_TOKEN_TILES(op, span, channel_rows)
}

static void tile(const struct op *op, const struct step *step, uint32_t t) {
    product_tile(op, step, t, TOKEN_TILE, DOTS(linear_w4a8_channel_product));
}

/* kernel: OP_LINEAR_W4A8_CHANNEL linear_w4a8_channel dots */
const struct kernel DOTS(linear_w4a8_channel) = {linear_tiles, tile};
