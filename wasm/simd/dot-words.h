/* dot-words.h: exact integer dots of unsigned weight codes with signed activations, as words of 16 bits. In: 8 weight
 * vectors, activations. Out: i32 lanes. Included by dot-simd128.h only. dot-products.h and the forms of dot-relaxed.h
 * have the same names and the same results.
 *
 *   weight vector   as i16 lanes: even inputs in the low bytes, odd in the high
 *   activations     i16 pairs (4j, 4j+2) and (4j+1, 4j+3), each splat over the vector, made once per group
 *
 * i32x4.dot_i16x8 then adds the pair of one row into that row's lane: no horizontal add, no widening of weights. */

/* One group of one token, ready for the dots. */
struct activations { v128_t even[8], odd[8]; };
INLINE void prepare(struct activations *x, const int8_t *codes) {
    ROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t qx = load_splat(codes + 4 * j);
        x->even[j] = wasm_i16x8_shr(wasm_i16x8_shl(qx, 8), 8);
        x->odd[j] = wasm_i16x8_shr(qx, 8);
    }
}

struct masks { v128_t low4, bits4, bits8, low8, crumbs[4]; };
INLINE struct masks masks(void) {
    return (struct masks){constant(0x000f000f), constant(0x00f000f0), constant(0x0f000f00), constant(0x00ff00ff),
                          {constant(0x00030003), constant(0x000c000c), constant(0x00300030), constant(0x00c000c0)}};
}

/* One token: nibbles are masked in place, and the results are divided by their powers of 16 at the end. This saves two
 * shifts for each vector. */
INLINE void dot_nibbles_in_place(v128_t *low, v128_t *high, const uint8_t *w, uint32_t step, const struct activations *x,
                                 struct masks masks) {
    v128_t times16 = wasm_i32x4_splat(0), times256 = times16;
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t codes = load(w + j * step);
        *low = dot_pairs(*low, wasm_v128_and(codes, masks.low4), x->even[j]);
        times16 = dot_pairs(times16, wasm_v128_and(codes, masks.bits4), x->even[j]);
        times256 = dot_pairs(times256, wasm_v128_and(codes, masks.bits8), x->odd[j]);
        *high = dot_pairs(*high, wasm_u16x8_shr(codes, 12), x->odd[j]);
    }
    *low = wasm_i32x4_add(*low, wasm_i32x4_shr(times256, 8));
    *high = wasm_i32x4_add(*high, wasm_i32x4_shr(times16, 4));
}

/* low[t] += dots with the low nibbles, high[t] += dots with the high nibbles, of 8 vectors `step` bytes apart. */
INLINE void dot_nibbles(v128_t *low, v128_t *high, const uint8_t *w, uint32_t step, const struct activations *x,
                        struct masks masks, int tokens) {
    if (tokens == 1) return dot_nibbles_in_place(low, high, w, step, x, masks);
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t codes = load(w + j * step);
        const v128_t low_even = wasm_v128_and(codes, masks.low4);
        const v128_t high_even = wasm_v128_and(wasm_u16x8_shr(codes, 4), masks.low4);
        const v128_t low_odd = wasm_v128_and(wasm_u16x8_shr(codes, 8), masks.low4);
        const v128_t high_odd = wasm_u16x8_shr(codes, 12);
        UNROLLED for (int t = 0; t < tokens; t++) {
            low[t] = dot_pairs(low[t], low_even, x[t].even[j]);
            high[t] = dot_pairs(high[t], high_even, x[t].even[j]);
            low[t] = dot_pairs(low[t], low_odd, x[t].odd[j]);
            high[t] = dot_pairs(high[t], high_odd, x[t].odd[j]);
        }
    }
}

/* dot[t] += dots with the unsigned bytes of 8 vectors `step` bytes apart. */
INLINE void dot_bytes(v128_t *dot, const uint8_t *w, uint32_t step, const struct activations *x, struct masks masks,
                      int tokens) {
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t codes = load(w + j * step);
        const v128_t even = wasm_v128_and(codes, masks.low8);
        const v128_t odd = wasm_u16x8_shr(codes, 8);
        UNROLLED for (int t = 0; t < tokens; t++) {
            dot[t] = dot_pairs(dot[t], even, x[t].even[j]);
            dot[t] = dot_pairs(dot[t], odd, x[t].odd[j]);
        }
    }
}

/* Codes of two bits, masked in place: sum i is 4^i times the dot. dot-quads.h explains the names. */
enum { CRUMB_SUMS = 4 };
INLINE int crumb_panels(const int tokens) { return (void)tokens, 1; }
INLINE void add_crumbs(v128_t (*sums)[TOKEN_TILE][CRUMB_SUMS], const uint8_t *const *w, const struct activations *x,
                       struct masks masks, const int panels, const int tokens) {
    (void)panels;
    UNROLLED for (uint32_t j = 0; j < 4; j++) {
        const v128_t codes = load(w[0] + 16 * j), odd = wasm_u16x8_shr(codes, 8);
        UNROLLED for (int i = 0; i < 4; i++) {
            const v128_t c_even = wasm_v128_and(codes, masks.crumbs[i]), c_odd = wasm_v128_and(odd, masks.crumbs[i]);
            UNROLLED for (int t = 0; t < tokens; t++) {
                sums[0][t][i] = dot_pairs(sums[0][t][i], c_even, x[t].even[2 * j + (uint32_t)i / 2]);
                sums[0][t][i] = dot_pairs(sums[0][t][i], c_odd, x[t].odd[2 * j + (uint32_t)i / 2]);
            }
        }
    }
}
INLINE void crumb_rows(v128_t *low, v128_t *high, const v128_t *sums, const int tokens) {
    (void)tokens;
    *low = wasm_i32x4_add(sums[0], wasm_i32x4_shr(sums[2], 4));
    *high = wasm_i32x4_add(wasm_i32x4_shr(sums[1], 2), wasm_i32x4_shr(sums[3], 6));
}

/* prepare() takes as long as the dots of a panel with codes of two bits, so it runs once for all panels. */
enum { PREPARES = 1 };
INLINE void lay_crumbs(v128_t *laid, const uint8_t *w, struct masks masks) {
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t codes = load(w + j / 2 * 16);
        UNROLLED for (uint32_t i = 0; i < 4; i++) {
            store(laid + 4 * j + i, wasm_v128_and(wasm_u16x8_shr(codes, j % 2 * 4 + i % 2 * 2 + i / 2 * 8), masks.crumbs[0]));
        }
    }
}

/* For many rows: one group of one row with every splat ready, its scale, the start of its sums, and the scale times the
 * sum of its codes. */
struct token { v128_t splats[16], scale, start, offset; };
INLINE void lay_splats(struct token *token, const int8_t *codes) {
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t qx = load_splat(codes + 4 * j);
        store(&token->splats[2 * j], wasm_i16x8_shr(wasm_i16x8_shl(qx, 8), 8));
        store(&token->splats[2 * j + 1], wasm_i16x8_shr(qx, 8));
    }
}
/* The laid codes of a block: rows 0-3 even inputs, rows 4-7 even inputs, the same of odd inputs, ... */
enum { LAID_NIBBLES = 32, LAID_BYTES = 32 };
INLINE void lay_nibbles(v128_t *laid, const uint8_t *w, struct masks masks) {
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t codes = load(w + 16 * j);
        store(laid + 4 * j, wasm_v128_and(codes, masks.low4));
        store(laid + 4 * j + 1, wasm_v128_and(wasm_u16x8_shr(codes, 4), masks.low4));
        store(laid + 4 * j + 2, wasm_v128_and(wasm_u16x8_shr(codes, 8), masks.low4));
        store(laid + 4 * j + 3, wasm_u16x8_shr(codes, 12));
    }
}
INLINE void lay_bytes(v128_t *laid, const uint8_t *w, struct masks masks) {
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t low = load(w + 32 * j), high = load(w + 32 * j + 16);
        store(laid + 4 * j, wasm_v128_and(low, masks.low8));
        store(laid + 4 * j + 1, wasm_v128_and(high, masks.low8));
        store(laid + 4 * j + 2, wasm_u16x8_shr(low, 8));
        store(laid + 4 * j + 3, wasm_u16x8_shr(high, 8));
    }
}
/* With more rows than this, the f32 sums of four panels are kept in memory: linear-w4.c. */
enum { MAX_IN_REGISTERS = TOKEN_TILE, MAX_BYTES_IN_REGISTERS = TOKEN_TILE };
/* The stored byte that dot_bytes() and dot_laid_bytes() multiply as 0. The initial sums account for the difference. */
enum { BYTE_ZERO = 0 };
/* Sums carried from group to group serve as the accumulators of the next dots. */
enum { ADDS_LAST = 0 };
/* Products of many rows use laid nibbles: 68 GOP/s, against 59 without (Zen 4). */
enum { LAYS_NIBBLES = 1 };
/* low[t], high[t] = x[t].start + dots with the codes from lay_nibbles() or lay_bytes(). */
INLINE void dot_laid_nibbles(v128_t *low, v128_t *high, const v128_t *laid, const struct token *x, const int tokens) {
    UNROLLED for (int t = 0; t < tokens; t++) low[t] = high[t] = load(&x[t].start);
    UNROLLED for (uint32_t j = 0; j < 16; j++) {
        const v128_t l = load(laid + 2 * j), h = load(laid + 2 * j + 1);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t qx = load(&x[t].splats[j]);
            low[t] = dot_pairs(low[t], l, qx);
            high[t] = dot_pairs(high[t], h, qx);
        }
    }
}
INLINE void dot_laid_bytes(v128_t *low, v128_t *high, const v128_t *laid, const struct token *x, const int tokens) {
    dot_laid_nibbles(low, high, laid, x, tokens);
}
