/* linear_w8a8: y[m][n] = sum_k W[n][k] x[m][k] + bias[n]. 8-bit weights, 8-bit activations.                    exact
 *
 *   n  output, padded to 32 by zero rows       panel p = n / 8, row i = n % 8
 *   k  input, padded to 32 by zero codes       group g = k / 32, G groups
 *
 *   w     [N32/8][G] blocks of 272 bytes: | 4 u32: f16 scale of row i, f16 scale of row i + 4 | 16 vectors |
 *         vectors 2j, 2j+1: 16 bytes [row 0..3 | row 4..7][input 4j..4j+3], code + 128 as u8
 *   x     a8 row: codes qx, scale sx and sum of codes xsum per group
 *
 *   y[n] = sum_g  float(sum_j (u8 - 128) * qx) * (s * sx)        g ascending
 *
 *   s is half_unit(f16), sx is the row's scale times SCALE_UNIT. Then bias, then the old y.
 *   The -128 is applied once per group: the i32 sums start at -128 * xsum. Products subtract it from the codes.
 *
 *   tile  as in linear-w4.c. A dot takes whole bytes where its second operand is unsigned, and nibbles elsewhere. */
/* forms: quads, pairs, products */
#include "linear/linear-blocks.h"

enum { BLOCK = 272 };

/* definition: OP_LINEAR_W8A8_G32 */
void DOTS(linear_w8a8__ref)(const struct op_linear *op, uint32_t m) {
    const uint32_t G = round_up(op->k, GROUP) / GROUP;
    int8_t *x = AT(int8_t *, op->x + m * op->x_stride);
    for (uint32_t n = 0; n < round_up(op->n, 32); n++) {
        const uint32_t i = n % PANEL;
        float acc = 0;
        for (uint32_t g = 0; g < G; g++) {
            const uint8_t *block = AT(const uint8_t *, op->w) + (n / PANEL * G + g) * BLOCK;
            const uint8_t *qw = block + 16 + i * 4;
            const float s = half_unit__ref(((const uint16_t *)block)[i % 4 * 2 + i / 4]);
            int32_t dot = 0;
            for (uint32_t k = 0; k < GROUP; k++) dot += ((int)qw[k / 4 * 32 + k % 4] - 128) * x[g * GROUP + k];
            acc = acc + (float)dot * (s * (a8_scales(x, op->k)[g] * SCALE_UNIT));
        }
        write_one__ref(op, m, n, acc);
    }
}

/* The rows 0-3 of a block, then its rows 4-7. */
INLINE void add_stream_w8(v128_t (*acc)[TOKEN_TILE][2], const uint32_t p, const uint8_t *block, const struct group *group,
                          struct masks masks, const int tokens) {
    UNROLLED for (int half = 0; half < 2; half++) {
        v128_t dot[TOKEN_TILE];
        UNROLLED for (int t = 0; t < tokens; t++) dot[t] = group->start[t];
        dot_bytes(dot, block + 16 + half * 16, 32, group->qx, masks, tokens);
        const v128_t scales = load(block), s = half ? half_unit_high(scales) : half_unit_low(scales);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t term = mul(wasm_f32x4_convert_i32x4(dot[t]), mul(s, group->sx[t]));
            acc[p][t][half] = add(acc[p][t][half], term);
            pin(acc[p][t][half]); /* as settle() in linear-w4.c */
        }
    }
}

/* The same where a dot takes whole bytes. */
INLINE void add_stream_bytes(v128_t (*acc)[TOKEN_TILE][2], const uint32_t p, const uint8_t *block,
                             const struct group *group, struct masks masks, const int tokens) {
    (void)masks;
    v128_t low[TOKEN_TILE], high[TOKEN_TILE];
    UNROLLED for (int t = 0; t < tokens; t++) low[t] = high[t] = group->start[t];
    dot_unsigned_bytes(low, high, block + 16, group->qx, tokens);
    const v128_t scales = load(block), s_low = half_unit_low(scales), s_high = half_unit_high(scales);
    UNROLLED for (int t = 0; t < tokens; t++) {
        const v128_t sx = group->sx[t];
        acc[p][t][0] = add(acc[p][t][0], mul(wasm_f32x4_convert_i32x4(low[t]), mul(s_low, sx)));
        acc[p][t][1] = add(acc[p][t][1], mul(wasm_f32x4_convert_i32x4(high[t]), mul(s_high, sx)));
        pin(acc[p][t][0]);
        pin(acc[p][t][1]);
    }
}

INLINE void add_w8(v128_t (*sums)[2], const struct laid *laid, const struct token *x, const int tokens) {
    v128_t low[TOKEN_TILE], high[TOKEN_TILE];
    dot_laid_bytes(low, high, laid->codes, x, tokens);
    add_scaled(sums, low, high, laid, x, tokens, 0);
}
ADD_LAID_ROWS(add_w8_rows, add_w8)
INLINE void lay_w8(struct laid *laid, const uint8_t *block, struct masks masks) {
    unpack_halves(laid->scales, block);
    lay_bytes(laid->codes, block + 16, masks);
}

ADD_TILE(add_tile_w8, BYTES)

void DOTS(linear_w8a8_product)(const struct op_linear *op, const struct span *span) {
    const struct block_layout blocks = {0, BLOCK, 128 - BYTE_ZERO};
    struct span rest = *span;
    if (BLOCK_ROWS > TOKEN_TILE && has_unsigned_dots()) {
        if (span->m1 - span->m0 >= MANY) rest.m0 += rows_by_blocks(op, span, blocks, add_tile_w8);
        span = &rest;
        BY_TOKEN_TILES(op, span, few_rows, blocks, MAX_BYTES_IN_REGISTERS, add_stream_bytes)
        return;
    }
    if (span->m1 - span->m0 >= MANY) return many_rows(op, span, blocks, lay_w8, add_w8_rows, write_panel);
    BY_TOKEN_TILES(op, span, few_rows, blocks, MAX_BYTES_IN_REGISTERS, add_stream_w8)
}

static uint32_t tiles(const struct op *op, const struct step *step) { return tiles_of_rows(op, step, BLOCK_ROWS); }
static void tile_w8(const struct op *op, const struct step *step, uint32_t t) {
    product_tile(op, step, t, BLOCK_ROWS, DOTS(linear_w8a8_product));
}

/* kernel: OP_LINEAR_W8A8_G32 linear_w8a8_g32 dense */
const struct kernel DOTS(linear_w8a8_g32) = {tiles, tile_w8};
