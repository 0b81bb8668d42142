/* dot-quads.h: exact integer dots, four inputs at once into i32. In: 8 weight vectors, activations. Out: i32 lanes.
 * Included by dot-relaxed.h only. dot-pairs.h and dot-simd128.h have the same names and the same results. */

/* low[t] += dots with the low nibbles, high[t] += dots with the high nibbles, of 8 vectors `step` bytes apart. */
INLINE void dot_nibbles(v128_t *low, v128_t *high, const uint8_t *w, uint32_t step, const struct activations *x,
                        struct masks masks, int tokens) {
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t codes = load(w + j * step);
        const v128_t l = wasm_v128_and(codes, masks.low4);
        const v128_t h = wasm_v128_and(wasm_u16x8_shr(codes, 4), masks.low4);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t qx = load_splat(x[t].codes + 4 * j);
            low[t] = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(qx, l, low[t]);
            high[t] = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(qx, h, high[t]);
            pin(low[t]);
            pin(high[t]);
        }
    }
}

INLINE void add_laid(v128_t *low, v128_t *high, const v128_t *laid, const struct token *x, const int tokens) {
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t l = load(laid + 2 * j), h = load(laid + 2 * j + 1);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t qx = load(&x[t].splats[j]);
            low[t] = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(qx, l, low[t]);
            high[t] = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(qx, h, high[t]);
            pin(low[t]);
            pin(high[t]);
        }
    }
}
/* With more rows than this, the f32 sums of four panels are kept in memory: linear-w4.c. Lower limits were not
   measured. */
enum { MOST_IN_REGISTERS = TOKEN_TILE, MOST_BYTES_IN_REGISTERS = TOKEN_TILE };
/* Sums that continue from group to group are the accumulators of the next dots. */
enum { ADDS_LAST = 0 };
/* Products of many rows unpack nibbles again for each TOKEN_TILE rows. Laid nibbles were no faster without VNNI; with
 * VNNI this was not measured. */
enum { LAYS_NIBBLES = 0 };
/* low[t], high[t] = x[t].start + dots with the codes from lay_nibbles() or lay_bytes(). */
INLINE void dot_laid_nibbles(v128_t *low, v128_t *high, const v128_t *laid, const struct token *x, const int tokens) {
    UNROLLED for (int t = 0; t < tokens; t++) low[t] = high[t] = load(&x[t].start);
    add_laid(low, high, laid, x, tokens);
}
INLINE void dot_laid_bytes(v128_t *low, v128_t *high, const v128_t *laid, const struct token *x, const int tokens) {
    UNROLLED for (int t = 0; t < tokens; t++) low[t] = high[t] = wasm_i32x4_splat(0);
    add_laid(low, high, laid, x, tokens);
    UNROLLED for (int t = 0; t < tokens; t++) {
        const v128_t start = load(&x[t].start);
        low[t] = wasm_i32x4_add(wasm_i32x4_shl(low[t], 4), start);
        high[t] = wasm_i32x4_add(wasm_i32x4_shl(high[t], 4), start);
    }
    add_laid(low, high, laid + 16, x, tokens);
}
