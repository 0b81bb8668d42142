/* dot-quads.h: exact integer dots, four inputs at once into i32. In: 8 weight vectors, activations. Out: i32 lanes.
 * Included by dot-relaxed.h only. dot-pairs.h and dot-simd128.h have the same names and the same results. */

/* low, high += products of two vectors of codes with one splat, four inputs at once. */
INLINE void add_quads(v128_t *low, v128_t *high, v128_t l, v128_t h, v128_t qx) {
    *low = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(qx, l, *low);
    *high = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(qx, h, *high);
    pin(*low);
    pin(*high);
}

/* low[t] += dots with the low nibbles, high[t] += dots with the high nibbles, of 8 vectors `step` bytes apart. */
INLINE void dot_nibbles(v128_t *low, v128_t *high, const uint8_t *w, uint32_t step, const struct activations *x,
                        struct masks masks, int tokens) {
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t codes = load(w + j * step);
        const v128_t l = wasm_v128_and(codes, masks.low4);
        const v128_t h = wasm_v128_and(wasm_u16x8_shr(codes, 4), masks.low4);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t qx = load_splat(x[t].codes + 4 * j);
            add_quads(&low[t], &high[t], l, h, qx);
        }
    }
}

/* low[t] += dots with the unsigned bytes of vectors 0, 2, .. 14, high[t] += dots with those of vectors 1, 3, .. 15.
 * Needs has_unsigned_dots(). */
INLINE void dot_unsigned_bytes(v128_t *low, v128_t *high, const uint8_t *w, const struct activations *x, int tokens) {
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t l = load(w + 32 * j), h = load(w + 32 * j + 16);
        UNROLLED for (int t = 0; t < tokens; t++) add_quads(&low[t], &high[t], l, h, load_splat(x[t].codes + 4 * j));
    }
}

/* Codes of two bits: a vector has rows 0-3 and 4-7 of inputs 4i..4i + 3, then of the next four, from its low
 * bits on. CRUMB_SUMS: sums of a panel and token. crumb_panels(): panels that add_crumbs() processes at once, because
 * one panel of few tokens has too few chains of dots to hide their latency. */
enum { CRUMB_SUMS = 4 };
INLINE int crumb_panels(const int tokens) { return tokens <= 2 ? 2 : 1; }
/* sums[p][t] += dots with the codes of 4 vectors. One token: codes are masked in place, and the last two sums are 16
 * times the dots. */
INLINE void add_crumbs(v128_t (*sums)[TOKEN_TILE][CRUMB_SUMS], const uint8_t *const *w, const struct activations *x,
                       struct masks masks, const int panels, const int tokens) {
    UNROLLED for (uint32_t j = 0; j < 4; j++) {
        UNROLLED for (int p = 0; p < panels; p++) {
            const v128_t codes = load(w[p] + 16 * j), next = wasm_u16x8_shr(codes, 2);
            UNROLLED for (uint32_t i = 0; i < 2; i++) {
                const v128_t l = tokens == 1 || i == 0 ? codes : wasm_u16x8_shr(codes, 4);
                const v128_t h = tokens == 1 || i == 0 ? next : wasm_u16x8_shr(codes, 6);
                const v128_t mask = tokens == 1 && i == 1 ? masks.mid2 : masks.low2;
                const v128_t low = wasm_v128_and(l, mask), high = wasm_v128_and(h, mask);
                UNROLLED for (int t = 0; t < tokens; t++) {
                    const v128_t qx = load_splat(x[t].codes + 8 * j + 4 * i);
                    v128_t *to = sums[p][t] + (tokens == 1 ? 2 * i : 0);
                    add_quads(&to[0], &to[1], low, high, qx);
                }
            }
        }
    }
}
/* The i32 lanes of rows 0-3 and of rows 4-7. */
INLINE void crumb_rows(v128_t *low, v128_t *high, const v128_t *sums, const int tokens) {
    *low = tokens == 1 ? wasm_i32x4_add(sums[0], wasm_i32x4_shr(sums[2], 4)) : sums[0];
    *high = tokens == 1 ? wasm_i32x4_add(sums[1], wasm_i32x4_shr(sums[3], 4)) : sums[1];
}

/* Activations are read again for each panel. */
enum { PREPARES = 0 };

INLINE void add_laid(v128_t *low, v128_t *high, const v128_t *laid, const struct token *x, const int tokens) {
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t l = load(laid + 2 * j), h = load(laid + 2 * j + 1);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t qx = load(&x[t].splats[j]);
            add_quads(&low[t], &high[t], l, h, qx);
        }
    }
}
/* With more rows than this, the f32 sums of four panels are kept in memory: linear-w4.c. Lower limits have not been
 * measured. */
enum { MAX_IN_REGISTERS = TOKEN_TILE, MAX_BYTES_IN_REGISTERS = TOKEN_TILE };
/* Sums carried from group to group serve as the accumulators of the next dots. */
enum { ADDS_LAST = 0 };
/* Products of many rows unpack nibbles again for each tile of rows. Laid nibbles were no faster without VNNI, and took
 * 1.08 to 1.12 times as long with it. */
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
