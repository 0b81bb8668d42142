/* dot-pairs.h: exact integer dots, two inputs at once into i16. In: 8 weight vectors, activations. Out: i32 lanes.
 * Included only by dot-relaxed.h. dot-quads.h and dot-simd128.h have the same names and the same results.
 *
 * An i16 lane sums 8 pairs: at most 8 * 2 * 128 * 15 = 30720. */

/* Sets low and high to the products of two vectors of codes with one splat, two inputs at once, or adds the products to
 * them. */
INLINE void add_pairs(v128_t *low, v128_t *high, v128_t l, v128_t h, v128_t qx, const int begins) {
    const v128_t low_pairs = wasm_i16x8_relaxed_dot_i8x16_i7x16(qx, l);
    const v128_t high_pairs = wasm_i16x8_relaxed_dot_i8x16_i7x16(qx, h);
    *low = begins ? low_pairs : wasm_i16x8_add(*low, low_pairs);
    *high = begins ? high_pairs : wasm_i16x8_add(*high, high_pairs);
    pin(*low);
    pin(*high);
}

/* low[t] += dots with the low nibbles, high[t] += dots with the high nibbles, of 8 vectors `step` bytes apart. */
INLINE void dot_nibbles(v128_t *low, v128_t *high, const uint8_t *w, uint32_t step, const struct activations *x,
                        struct masks masks, int tokens) {
    v128_t l16[TOKEN_TILE], h16[TOKEN_TILE];
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t codes = load(w + j * step);
        const v128_t l = wasm_v128_and(codes, masks.low4);
        const v128_t h = wasm_v128_and(wasm_u16x8_shr(codes, 4), masks.low4);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t qx = load_splat(x[t].codes + 4 * j);
            add_pairs(&l16[t], &h16[t], l, h, qx, j == 0);
        }
    }
    UNROLLED for (int t = 0; t < tokens; t++) {
        low[t] = wasm_i32x4_add(low[t], wasm_i32x4_extadd_pairwise_i16x8(l16[t]));
        high[t] = wasm_i32x4_add(high[t], wasm_i32x4_extadd_pairwise_i16x8(h16[t]));
    }
}

/* Pairs of products of whole bytes would not fit in i16. */
INLINE void dot_unsigned_bytes(v128_t *low, v128_t *high, const uint8_t *w, const struct activations *x, int tokens) {
    (void)low, (void)high, (void)w, (void)x, (void)tokens;
}

/* Codes of two bits, in i16 for a group. dot-quads.h explains the names. */
enum { CRUMB_SUMS = 2 };
INLINE int crumb_panels(const int tokens) { return (void)tokens, 1; }
INLINE void add_crumbs(v128_t (*sums)[TOKEN_TILE][CRUMB_SUMS], const uint8_t *const *w, const struct activations *x,
                       struct masks masks, const int panels, const int tokens) {
    (void)panels;
    v128_t l16[TOKEN_TILE], h16[TOKEN_TILE];
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t codes = load(w[0] + j / 2 * 16);
        const v128_t low = wasm_v128_and(wasm_u16x8_shr(codes, j % 2 * 4), masks.low2);
        const v128_t high = wasm_v128_and(wasm_u16x8_shr(codes, j % 2 * 4 + 2), masks.low2);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t qx = load_splat(x[t].codes + 4 * j);
            add_pairs(&l16[t], &h16[t], low, high, qx, j == 0);
        }
    }
    UNROLLED for (int t = 0; t < tokens; t++) {
        sums[0][t][0] = wasm_i32x4_add(sums[0][t][0], wasm_i32x4_extadd_pairwise_i16x8(l16[t]));
        sums[0][t][1] = wasm_i32x4_add(sums[0][t][1], wasm_i32x4_extadd_pairwise_i16x8(h16[t]));
    }
}
INLINE void crumb_rows(v128_t *low, v128_t *high, const v128_t *sums, const int tokens) {
    (void)tokens;
    *low = sums[0];
    *high = sums[1];
}

/* Activations are read again for each panel. */
enum { PREPARES = 0 };

INLINE void sum_laid(v128_t *low, v128_t *high, const v128_t *laid, const struct token *x, const int tokens) {
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t l = load(laid + 2 * j), h = load(laid + 2 * j + 1);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t qx = load(&x[t].splats[j]);
            add_pairs(&low[t], &high[t], l, h, qx, j == 0);
        }
    }
}
/* With more rows than this, the f32 sums of four panels are kept in memory: linear-w4.c. */
enum { MAX_IN_REGISTERS = 2, MAX_BYTES_IN_REGISTERS = TOKEN_TILE };
/* Sums carried from group to group are added after the dots. Before the dots, they would occupy registers that
 * the i16 sums need. */
enum { ADDS_LAST = 1 };
/* Products of many rows unpack nibbles again for each TOKEN_TILE rows: 120 GOP/s, against 110 with laid nibbles (Zen
 * 4). */
enum { LAYS_NIBBLES = 0 };
/* low[t], high[t] = x[t].start + dots with the codes from lay_nibbles() or lay_bytes(). */
INLINE void dot_laid_nibbles(v128_t *low, v128_t *high, const v128_t *laid, const struct token *x, const int tokens) {
    sum_laid(low, high, laid, x, tokens);
    UNROLLED for (int t = 0; t < tokens; t++) {
        const v128_t start = load(&x[t].start);
        low[t] = wasm_i32x4_add(wasm_i32x4_extadd_pairwise_i16x8(low[t]), start);
        high[t] = wasm_i32x4_add(wasm_i32x4_extadd_pairwise_i16x8(high[t]), start);
    }
}
INLINE void dot_laid_bytes(v128_t *low, v128_t *high, const v128_t *laid, const struct token *x, const int tokens) {
    v128_t a[TOKEN_TILE], b[TOKEN_TILE];
    sum_laid(a, b, laid, x, tokens);
    UNROLLED for (int t = 0; t < tokens; t++) {
        const v128_t start = load(&x[t].start);
        a[t] = wasm_i32x4_add(wasm_i32x4_shl(wasm_i32x4_extadd_pairwise_i16x8(a[t]), 4), start);
        b[t] = wasm_i32x4_add(wasm_i32x4_shl(wasm_i32x4_extadd_pairwise_i16x8(b[t]), 4), start);
        pin(a[t]);
        pin(b[t]);
    }
    sum_laid(low, high, laid + 16, x, tokens);
    UNROLLED for (int t = 0; t < tokens; t++) {
        low[t] = wasm_i32x4_add(wasm_i32x4_extadd_pairwise_i16x8(low[t]), a[t]);
        high[t] = wasm_i32x4_add(wasm_i32x4_extadd_pairwise_i16x8(high[t]), b[t]);
    }
}
