/* linear-many.h: products of many rows. In: a span, a function that lays a block of its weights. Out: rows of y.
 *
 *   Laying a block means unpacking its codes and scales into the vectors that the dots use. A group of all rows is
 *   prepared once for all panels of a tile, and a block of weights is laid once for all rows. Both are then in the
 *   first-level cache. The f32 sums of a panel and row stay in memory and add one group after the other, in the same
 *   order as for a single row.
 *
 *   for each group
 *     tokens[m]        splats of codes, scale, start           rows of the tile
 *     for each panel   laid: codes, scales                     STREAMS * width
 *       sums[panel][m] += ...                                  TOKEN_TILE rows at a time, in registers
 *
 *   The innermost loop is a separate function: inlined, it would spill the registers of the outer loops. */
#ifndef HALFBYTE_LINEAR_MANY_H
#define HALFBYTE_LINEAR_MANY_H
#include "linear/linear-few.h"

/* A block, unpacked for the dots with all rows. */
struct laid { v128_t codes[LAID_BYTES], scales[2], minimums[2]; };
typedef void lay_block(struct laid *laid, const uint8_t *block, struct masks masks);
/* The signature of write_panel(). */
typedef void write_outputs(const struct op_linear *op, uint32_t m, uint32_t panel, uint32_t y_panel, v128_t low, v128_t high);
typedef void add_laid_rows(v128_t (*sums)[2], const struct laid *laid, const struct token *tokens, uint32_t count);

/* Scales or minimums of rows 0-3, then of rows 4-7. */
INLINE void unpack_halves(v128_t *to, const uint8_t *halves) {
    const v128_t both = load(halves);
    to[0] = half_unit_low(both);
    to[1] = half_unit_high(both);
}

/* sums[t] += dot, where sums are i32 from group to group. */
INLINE void add_integers(v128_t (*sums)[2], const struct laid *laid, const struct token *x, const int tokens) {
    v128_t low[TOKEN_TILE], high[TOKEN_TILE];
    dot_laid_nibbles(low, high, laid->codes, x, tokens);
    UNROLLED for (int t = 0; t < tokens; t++) {
        store(&sums[t][0], wasm_i32x4_add(load(&sums[t][0]), low[t]));
        store(&sums[t][1], wasm_i32x4_add(load(&sums[t][1]), high[t]));
    }
}

/* sums[t] += float(dot) * (scale of row * scale of token), then minimum * offset. */
INLINE void add_scaled(v128_t (*sums)[2], const v128_t *low, const v128_t *high, const struct laid *laid,
                       const struct token *x, const int tokens, const int minimums) {
    const v128_t s_low = load(laid->scales), s_high = load(laid->scales + 1);
    UNROLLED for (int t = 0; t < tokens; t++) {
        const v128_t sx = load(&x[t].scale);
        v128_t a = mul(wasm_f32x4_convert_i32x4(low[t]), mul(s_low, sx));
        v128_t b = mul(wasm_f32x4_convert_i32x4(high[t]), mul(s_high, sx));
        if (minimums) {
            const v128_t offset = load(&x[t].offset);
            a = add(a, mul(load(laid->minimums), offset));
            b = add(b, mul(load(laid->minimums + 1), offset));
        }
        store(&sums[t][0], add(load(&sums[t][0]), a));
        store(&sums[t][1], add(load(&sums[t][1]), b));
    }
}

/* The innermost loop of a kernel. `tile` adds a constant number of tokens. */
#define ADD_LAID_ROWS(name, tile)                                                                                      \
    static __attribute__((noinline)) void name(v128_t (*sums)[2], const struct laid *laid, const struct token *tokens, \
                                               uint32_t count) {                                                       \
        for (; count >= TOKEN_TILE; count -= TOKEN_TILE, sums += TOKEN_TILE, tokens += TOKEN_TILE) {                   \
            tile(sums, laid, tokens, TOKEN_TILE);                                                                      \
        }                                                                                                              \
        switch (count) {                                                                                               \
        case 3: return tile(sums, laid, tokens, 3);                                                                    \
        case 2: return tile(sums, laid, tokens, 2);                                                                    \
        case 1: return tile(sums, laid, tokens, 1);                                                                    \
        default: return;                                                                                               \
        }                                                                                                              \
    }

/* Group g of rows m.. of x. */
INLINE void lay_tokens(struct token *tokens, const struct op_linear *op, uint32_t m, uint32_t count, uint32_t g,
                       const int32_t zero) {
    int8_t *row = AT(int8_t *, op->x + m * op->x_stride);
    for (uint32_t t = 0; t < count; t++, row += op->x_stride) {
        const v128_t xsum = load_splat(a8_sums(row, op->k) + g);
        const v128_t scale = mul(load_splat(a8_scales(row, op->k) + g), splat(SCALE_UNIT));
        lay_splats(&tokens[t], row + g * GROUP);
        store(&tokens[t].scale, scale);
        store(&tokens[t].start, wasm_i32x4_mul(xsum, wasm_i32x4_splat(-zero)));
        if (zero == 0) store(&tokens[t].offset, mul(scale, wasm_f32x4_convert_i32x4(xsum)));
    }
}

INLINE void many_rows(const struct op_linear *op, const struct span *span, const struct block_layout blocks, lay_block *lay,
                      add_laid_rows *add_rows, write_outputs *write) {
    const uint32_t G = round_up(op->k, GROUP) / GROUP, count = span->m1 - span->m0, panels = STREAMS * span->width;
    const struct masks unpack = masks();
    v128_t sums[STREAMS * MAX_WIDTH][TOKEN_CHUNK][2];
    struct token tokens[TOKEN_CHUNK];
    struct laid laid;
    zero_chunk(sums, panels, count);
    for (uint32_t g = 0; g < G; g++) {
        lay_tokens(tokens, op, span->m0, count, g, blocks.zero);
        for (uint32_t p = 0; p < panels; p++) {
            const uint32_t panel = nth_of_streams(span->w, p);
            const uint32_t block = panel * (blocks.head + G * blocks.bytes) + blocks.head + g * blocks.bytes;
            lay(&laid, AT(const uint8_t *, op->w) + block, unpack);
            add_rows(sums[p], &laid, tokens, count);
        }
    }
    for (uint32_t p = 0; p < panels; p++) {
        const uint32_t panel = nth_of_streams(span->w, p);
        const uint32_t y_panel = nth_of_streams(span->y, p);
        for (uint32_t t = 0; t < count; t++) write(op, span->m0 + t, panel, y_panel, sums[p][t][0], sums[p][t][1]);
    }
}
#endif
