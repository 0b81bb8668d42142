/* linear_w4a8, linear_w4ma8: y[m][n] = sum_k W[n][k] x[m][k] + bias[n]. 4-bit weights, 8-bit activations.      exact
 *
 *   n  output, padded to 32 by zero rows       panel p = n / 8, row i = n % 8
 *   k  input, padded to 32 by zero codes       group g = k / 32, G groups
 *
 *   w     [N32/8][G] blocks of 144 bytes (w4) or 160 (w4m):
 *         | 4 u32: f16 scale of row i, f16 scale of row i + 4 | w4m: 4 u32 of minimums | 8 vectors |
 *         vector j: 16 bytes [row 0..3][input 4j..4j+3], low nibbles rows 0-3, high nibbles rows 4-7
 *   x     a8 row: codes qx, scale sx and sum of codes xsum per group
 *
 *   w4    y[n] = sum_g  float(sum_j (code - 8) * qx) * (s * sx)                                g ascending
 *   w4m   y[n] = sum_g (float(sum_j code * qx) * (s * sx) + minimum * (sx * float(xsum)))      g ascending
 *
 *   s and minimum are half_unit(f16), sx is the row's scale times SCALE_UNIT. Then bias, then the old y.
 *   The -8 is applied once per group: the i32 sums start at -8 * xsum.
 *
 *   tile  few rows: 4 panels far apart (N is padded to 4 panels, so every tile is whole), read group by group, for up
 *         to TOKEN_TILE rows at a time. The f32 sums of all panels are in a small array, the i32 sums of one block in
 *         registers. Many rows: linear-blocks.h or linear-many.h
 *
 *   Four panels of more than MAX_IN_REGISTERS rows have more sums than there are registers, so sums are stored after
 *   each block. The stores also stop V8 from keeping what it has loaded. Without a store in between, it loads each of
 *   the 32 splats that all panels share only once, and then moves these splats and the sums to and from the stack
 *   frame. */
/* forms: quads, pairs, products */
#include "linear/linear-blocks.h"

INLINE void linear__ref(const struct op_linear *op, uint32_t m, int minimums) {
    const uint32_t G = round_up(op->k, GROUP) / GROUP, bytes = minimums ? 160 : 144;
    int8_t *x = AT(int8_t *, op->x + m * op->x_stride);
    for (uint32_t n = 0; n < round_up(op->n, 32); n++) {
        const uint32_t i = n % PANEL;
        float acc = 0;
        for (uint32_t g = 0; g < G; g++) {
            const uint8_t *block = AT(const uint8_t *, op->w) + (n / PANEL * G + g) * bytes;
            const uint16_t *halves = (const uint16_t *)block + i % 4 * 2 + i / 4;
            const uint8_t *qw = block + bytes - 128 + i % 4 * 4;
            const float sx = a8_scales(x, op->k)[g] * SCALE_UNIT, s = half_unit__ref(halves[0]);
            const int32_t xsum = a8_sums(x, op->k)[g];
            int32_t dot = minimums ? 0 : -8 * xsum;
            for (uint32_t k = 0; k < GROUP; k++) {
                const uint8_t byte = qw[k / 4 * 16 + k % 4];
                dot += (i < 4 ? byte & 15 : byte >> 4) * x[g * GROUP + k];
            }
            float term = (float)dot * (s * sx);
            if (minimums) term = term + half_unit__ref(halves[8]) * (sx * (float)xsum);
            acc = acc + term;
        }
        write_one__ref(op, m, n, acc);
    }
}
/* definition: OP_LINEAR_W4A8_G32 */
void DOTS(linear_w4a8__ref)(const struct op_linear *op, uint32_t m) { linear__ref(op, m, 0); }
/* definition: OP_LINEAR_W4MA8_G32 */
void DOTS(linear_w4ma8__ref)(const struct op_linear *op, uint32_t m) { linear__ref(op, m, 1); }

/* acc[t] += the sums of one block. */
INLINE void add_block(v128_t (*acc)[2], const uint8_t *block, const struct group *group, struct masks masks,
                      const int tokens, const int minimums) {
    v128_t low[TOKEN_TILE], high[TOKEN_TILE];
    UNROLLED for (int t = 0; t < tokens; t++) low[t] = high[t] = group->start[t];
    dot_nibbles(low, high, block + (minimums ? 32 : 16), 16, group->qx, masks, tokens);
    const v128_t scales = load(block), s_low = half_unit_low(scales), s_high = half_unit_high(scales);
    v128_t m_low = s_low, m_high = s_high;
    if (minimums) {
        const v128_t minimum = load(block + 16);
        m_low = half_unit_low(minimum);
        m_high = half_unit_high(minimum);
    }
    UNROLLED for (int t = 0; t < tokens; t++) {
        v128_t a = mul(wasm_f32x4_convert_i32x4(low[t]), mul(s_low, group->sx[t]));
        v128_t b = mul(wasm_f32x4_convert_i32x4(high[t]), mul(s_high, group->sx[t]));
        if (minimums) {
            a = add(a, mul(m_low, group->offset[t]));
            b = add(b, mul(m_high, group->offset[t]));
        }
        acc[t][0] = add(acc[t][0], a);
        acc[t][1] = add(acc[t][1], b);
    }
}

/* Finishes a panel's sums here. V8 would otherwise finish all four after the last dot and spill them until then.
 * Two tokens have too few dots to hide the latency of this, so on x64 it is 3 % faster to finish their panels in
 * pairs. */
INLINE void settle(v128_t (*acc)[TOKEN_TILE][2], uint32_t panel, const int tokens) {
    if (tokens == 2 && panel % 2 == 0) return;
    UNROLLED for (uint32_t p = tokens == 2 ? panel - 1 : panel; p <= panel; p++) {
        UNROLLED for (int t = 0; t < tokens; t++) {
            pin(acc[p][t][0]);
            pin(acc[p][t][1]);
        }
    }
}

INLINE void add_stream_w4(v128_t (*acc)[TOKEN_TILE][2], const uint32_t p, const uint8_t *block, const struct group *group,
                          struct masks masks, const int tokens) {
    add_block(acc[p], block, group, masks, tokens, 0);
    if (tokens <= MAX_IN_REGISTERS) settle(acc, p, tokens);
}
INLINE void add_stream_w4m(v128_t (*acc)[TOKEN_TILE][2], const uint32_t p, const uint8_t *block, const struct group *group,
                           struct masks masks, const int tokens) {
    add_block(acc[p], block, group, masks, tokens, 1);
    if (tokens <= MAX_IN_REGISTERS) settle(acc, p, tokens);
}

INLINE void add_laid_tile(v128_t (*sums)[2], const struct laid *laid, const struct token *x, const int tokens,
                          const int minimums) {
    v128_t low[TOKEN_TILE], high[TOKEN_TILE];
    dot_laid_nibbles(low, high, laid->codes, x, tokens);
    add_scaled(sums, low, high, laid, x, tokens, minimums);
}
INLINE void add_w4(v128_t (*sums)[2], const struct laid *laid, const struct token *x, const int tokens) {
    add_laid_tile(sums, laid, x, tokens, 0);
}
INLINE void add_w4m(v128_t (*sums)[2], const struct laid *laid, const struct token *x, const int tokens) {
    add_laid_tile(sums, laid, x, tokens, 1);
}
ADD_LAID_ROWS(add_w4_rows, add_w4)
ADD_LAID_ROWS(add_w4m_rows, add_w4m)
INLINE void lay_w4(struct laid *laid, const uint8_t *block, struct masks masks) {
    unpack_halves(laid->scales, block);
    lay_nibbles(laid->codes, block + 16, masks);
}
INLINE void lay_w4m(struct laid *laid, const uint8_t *block, struct masks masks) {
    unpack_halves(laid->scales, block);
    unpack_halves(laid->minimums, block + 16);
    lay_nibbles(laid->codes, block + 32, masks);
}

ADD_TILE(add_tile_w4, NIBBLES)
ADD_TILE(add_tile_w4m, NIBBLES_M)

static const struct block_layout blocks_w4 = {0, 144, 8}, blocks_w4m = {0, 160, 0};

FEW_ROWS void few_w4(const struct op_linear *op, const struct span *span) {
    BY_TOKEN_TILES(op, span, few_rows, blocks_w4, MAX_IN_REGISTERS, add_stream_w4)
}
FEW_ROWS void few_w4m(const struct op_linear *op, const struct span *span) {
    BY_TOKEN_TILES(op, span, few_rows, blocks_w4m, MAX_IN_REGISTERS, add_stream_w4m)
}

void DOTS(linear_w4a8_product)(const struct op_linear *op, const struct span *span) {
    struct span rest;
    if (span->m1 - span->m0 >= MANY) {
        if (LAYS_NIBBLES) return many_rows(op, span, blocks_w4, lay_w4, add_w4_rows, write_panel);
        if (BLOCK_ROWS > TOKEN_TILE) {
            rest = *span;
            rest.m0 += rows_by_blocks(op, span, blocks_w4, add_tile_w4);
            span = &rest;
        }
    }
    few_w4(op, span);
}
void DOTS(linear_w4ma8_product)(const struct op_linear *op, const struct span *span) {
    struct span rest;
    if (span->m1 - span->m0 >= MANY) {
        if (LAYS_NIBBLES) return many_rows(op, span, blocks_w4m, lay_w4m, add_w4m_rows, write_panel);
        if (BLOCK_ROWS > TOKEN_TILE) {
            rest = *span;
            rest.m0 += rows_by_blocks(op, span, blocks_w4m, add_tile_w4m);
            span = &rest;
        }
    }
    few_w4m(op, span);
}

static uint32_t tiles(const struct op *op, const struct step *step) { return tiles_of_rows(op, step, BLOCK_ROWS); }
static void tile_w4(const struct op *op, const struct step *step, uint32_t t) {
    product_tile(op, step, t, BLOCK_ROWS, DOTS(linear_w4a8_product));
}
static void tile_w4m(const struct op *op, const struct step *step, uint32_t t) {
    product_tile(op, step, t, BLOCK_ROWS, DOTS(linear_w4ma8_product));
}

/* kernel: OP_LINEAR_W4A8_G32 linear_w4a8_g32 dense */
const struct kernel DOTS(linear_w4a8_g32) = {tiles, tile_w4};
/* kernel: OP_LINEAR_W4MA8_G32 linear_w4ma8_g32 dense */
const struct kernel DOTS(linear_w4ma8_g32) = {tiles, tile_w4m};
