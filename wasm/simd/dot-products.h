/* dot-products.h: exact integer dots, one product at a time into i16. In: 8 weight vectors, activations. Out: i32
 * lanes. Included by dot-simd128.h only. dot-words.h and the forms of dot-relaxed.h have the same names and the same
 * results.
 *
 *   i16x8.extmul_low     [row 0: 4 products | row 1: 4 products]      one smull on Arm
 *   i16x8.extmul_high    [row 2: 4 products | row 3: 4 products]      one smull2
 *
 * Nibbles: a lane sums 8 products, two lanes are added before they widen: at most 16 * 15 * 128 = 30720. Bytes are
 * signed here, the stored byte minus 128: two products are at most 2 * 127 * 128 = 32512, then they widen. Codes of
 * weights are never -128. */

/* One group of one token, ready for the dots. */
struct activations { const int8_t *codes; v128_t halves[2]; };
INLINE void prepare(struct activations *x, const int8_t *codes) {
    *x = (struct activations){codes, {load(codes), load(codes + 16)}};
}
/* Four copies of codes 4j to 4j + 3. For one token, the eight splats stay in registers for all panels. For more tokens
 * there are too few registers, so the splats are loaded again. */
INLINE v128_t splat_codes(const struct activations *x, const uint32_t j, const int tokens) {
    return tokens == 1 ? splat_lane(x->halves[j / 4], (int)j % 4) : load_splat(x->codes + 4 * j);
}

/* LLVM turns a signed product of codes known to be at least 0 into a product of widened words, six instructions instead
   of two. It does not know the result of a shift by `nibble`. */
struct masks { v128_t low4, flip, low2; uint32_t nibble; };
INLINE struct masks masks(void) {
    uint32_t nibble = 4;
    __asm__ volatile("" : "+r"(nibble));
    return (struct masks){constant(0x0f0f0f0f), constant(0x80808080), constant(0x03030303), nibble};
}

/* The sums of rows 0 and 1, and of rows 2 and 3: i16 lanes for nibbles, i32 lanes for bytes. */
struct halves { v128_t first, last; };

/* Sets sums to the products of 16 nibbles with one splat, or adds the products to them. */
INLINE void add_products(struct halves *sums, v128_t codes, v128_t qx, const int begins) {
    const v128_t first = wasm_i16x8_extmul_low_i8x16(codes, qx), last = wasm_i16x8_extmul_high_i8x16(codes, qx);
    sums->first = begins ? first : wasm_i16x8_add(sums->first, first);
    sums->last = begins ? last : wasm_i16x8_add(sums->last, last);
    pin(sums->first);
    pin(sums->last);
}
/* The i32 lanes of rows 0-3. */
INLINE v128_t nibble_rows(struct halves sums) {
    const v128_t even = wasm_i16x8_shuffle(sums.first, sums.last, 0, 2, 4, 6, 8, 10, 12, 14);
    const v128_t odd = wasm_i16x8_shuffle(sums.first, sums.last, 1, 3, 5, 7, 9, 11, 13, 15);
    return wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_add(even, odd));
}

/* Sets sums to the products of two vectors of 16 signed bytes, each with one splat, or adds the products to them. */
INLINE void add_byte_products(struct halves *sums, v128_t a, v128_t b, v128_t qa, v128_t qb, const int begins) {
    const v128_t low = wasm_i16x8_add(wasm_i16x8_extmul_low_i8x16(a, qa), wasm_i16x8_extmul_low_i8x16(b, qb));
    const v128_t high = wasm_i16x8_add(wasm_i16x8_extmul_high_i8x16(a, qa), wasm_i16x8_extmul_high_i8x16(b, qb));
    const v128_t first = wasm_i32x4_extadd_pairwise_i16x8(low), last = wasm_i32x4_extadd_pairwise_i16x8(high);
    sums->first = begins ? first : wasm_i32x4_add(sums->first, first);
    sums->last = begins ? last : wasm_i32x4_add(sums->last, last);
    pin(sums->first);
    pin(sums->last);
}
INLINE v128_t byte_rows(struct halves sums) {
    const v128_t even = wasm_i32x4_shuffle(sums.first, sums.last, 0, 2, 4, 6);
    return wasm_i32x4_add(even, wasm_i32x4_shuffle(sums.first, sums.last, 1, 3, 5, 7));
}

/* low[t] += dots with the low nibbles, high[t] += dots with the high nibbles, of 8 vectors `step` bytes apart. */
INLINE void dot_nibbles(v128_t *low, v128_t *high, const uint8_t *w, uint32_t step, const struct activations *x,
                        struct masks masks, int tokens) {
    struct halves l[TOKEN_TILE], h[TOKEN_TILE];
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t codes = load(w + j * step);
        const v128_t nibbles_low = wasm_v128_and(codes, masks.low4), nibbles_high = wasm_u8x16_shr(codes, masks.nibble);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t qx = splat_codes(&x[t], j, tokens);
            add_products(&l[t], nibbles_low, qx, j == 0);
            add_products(&h[t], nibbles_high, qx, j == 0);
        }
    }
    UNROLLED for (int t = 0; t < tokens; t++) {
        low[t] = wasm_i32x4_add(low[t], nibble_rows(l[t]));
        high[t] = wasm_i32x4_add(high[t], nibble_rows(h[t]));
    }
}

/* Codes of two bits, in i16: 256 inputs add up to 64 * 128 * 3 = 24576 in a lane. dot-quads.h explains the names. */
enum { CRUMB_SUMS = 4 };
INLINE int crumb_panels(const int tokens) { return (void)tokens, 1; }
INLINE void add_crumbs(v128_t (*sums)[TOKEN_TILE][CRUMB_SUMS], const uint8_t *const *w, const struct activations *x,
                       struct masks masks, const int panels, const int tokens) {
    (void)panels;
    UNROLLED for (uint32_t j = 0; j < 4; j++) {
        const v128_t codes = load(w[0] + 16 * j);
        UNROLLED for (int i = 0; i < 4; i++) {
            const v128_t shifted = wasm_u8x16_shr(codes, masks.nibble / 2 * (uint32_t)i), c = i == 3 ? shifted : wasm_v128_and(shifted, masks.low2);
            UNROLLED for (int t = 0; t < tokens; t++) {
                const v128_t qx = splat_codes(&x[t], 2 * j + (uint32_t)i / 2, tokens);
                v128_t *to = sums[0][t] + i % 2 * 2;
                to[0] = wasm_i16x8_add(to[0], wasm_i16x8_extmul_low_i8x16(c, qx));
                to[1] = wasm_i16x8_add(to[1], wasm_i16x8_extmul_high_i8x16(c, qx));
                pin(to[0]);
                pin(to[1]);
            }
        }
    }
}
INLINE void crumb_rows(v128_t *low, v128_t *high, const v128_t *sums, const int tokens) {
    (void)tokens;
    v128_t wide[CRUMB_SUMS];
    UNROLLED for (int i = 0; i < CRUMB_SUMS; i++) wide[i] = wasm_i32x4_extadd_pairwise_i16x8(sums[i]);
    *low = byte_rows((struct halves){wide[0], wide[1]});
    *high = byte_rows((struct halves){wide[2], wide[3]});
}

/* Activations are read again for each panel. */
enum { PREPARES = 0 };
INLINE void lay_crumbs(v128_t *laid, const uint8_t *w, struct masks masks) {
    UNROLLED for (uint32_t i = 0; i < 16; i++) {
        store(laid + i, wasm_v128_and(wasm_u8x16_shr(load(w + i / 4 * 16), i % 4 * 2), masks.low2));
    }
}

/* The stored byte that dot_bytes() and dot_laid_bytes() multiply as 0. The initial sums account for the difference. */
enum { BYTE_ZERO = 128 };

/* dot[t] += dots with the bytes of 8 vectors `step` bytes apart, minus BYTE_ZERO. */
INLINE void dot_bytes(v128_t *dot, const uint8_t *w, uint32_t step, const struct activations *x, struct masks masks,
                      int tokens) {
    struct halves sums[TOKEN_TILE];
    UNROLLED for (uint32_t j = 0; j < 8; j += 2) {
        const v128_t a = wasm_v128_xor(load(w + j * step), masks.flip);
        const v128_t b = wasm_v128_xor(load(w + (j + 1) * step), masks.flip);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t qa = splat_codes(&x[t], j, tokens), qb = splat_codes(&x[t], j + 1, tokens);
            add_byte_products(&sums[t], a, b, qa, qb, j == 0);
        }
    }
    UNROLLED for (int t = 0; t < tokens; t++) dot[t] = wasm_i32x4_add(dot[t], byte_rows(sums[t]));
}

/* For many rows: one group of one row with every splat ready, its scale, the start of its sums, and the scale times the
 * sum of its codes. */
struct token { v128_t splats[8], scale, start, offset; };
INLINE void lay_splats(struct token *token, const int8_t *codes) {
    UNROLLED for (int i = 0; i < 2; i++) {
        const v128_t q = load(codes + 16 * i);
        UNROLLED for (int j = 0; j < 4; j++) store(&token->splats[4 * i + j], splat_lane(q, j));
    }
}
/* The codes of a block as they are laid out: nibbles of rows 0-3 and of rows 4-7 in turn; signed bytes of rows 0-3,
 * then of rows 4-7. */
enum { LAID_NIBBLES = 16, LAID_BYTES = 16 };
INLINE void lay_nibbles(v128_t *laid, const uint8_t *w, struct masks masks) {
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t codes = load(w + 16 * j);
        store(laid + 2 * j, wasm_v128_and(codes, masks.low4));
        store(laid + 2 * j + 1, wasm_u8x16_shr(codes, 4));
    }
}
INLINE void lay_bytes(v128_t *laid, const uint8_t *w, struct masks masks) {
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        store(laid + j, wasm_v128_xor(load(w + 32 * j), masks.flip));
        store(laid + 8 + j, wasm_v128_xor(load(w + 32 * j + 16), masks.flip));
    }
}
/* With more rows than this, the f32 sums of four panels are kept in memory: linear-w4.c, linear-w8.c. */
enum { MAX_IN_REGISTERS = 1, MAX_BYTES_IN_REGISTERS = 1 };
/* Sums carried from group to group are added after the dots. */
enum { ADDS_LAST = 1 };
/* Products of many rows unpack nibbles once for all rows. */
enum { LAYS_NIBBLES = 1 };
/* low[t], high[t] = x[t].start + dots with the codes from lay_nibbles(). */
INLINE void dot_laid_nibbles(v128_t *low, v128_t *high, const v128_t *laid, const struct token *x, const int tokens) {
    struct halves l[TOKEN_TILE], h[TOKEN_TILE];
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t nibbles_low = load(laid + 2 * j), nibbles_high = load(laid + 2 * j + 1);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t qx = load(&x[t].splats[j]);
            add_products(&l[t], nibbles_low, qx, j == 0);
            add_products(&h[t], nibbles_high, qx, j == 0);
        }
    }
    UNROLLED for (int t = 0; t < tokens; t++) {
        const v128_t start = load(&x[t].start);
        low[t] = wasm_i32x4_add(start, nibble_rows(l[t]));
        high[t] = wasm_i32x4_add(start, nibble_rows(h[t]));
    }
}
/* The same with the codes from lay_bytes(). Both halves of the rows share each splat. */
INLINE void dot_laid_bytes(v128_t *low, v128_t *high, const v128_t *laid, const struct token *x, const int tokens) {
    struct halves l[TOKEN_TILE], h[TOKEN_TILE];
    UNROLLED for (uint32_t j = 0; j < 8; j += 2) {
        const v128_t a = load(laid + j), b = load(laid + j + 1), c = load(laid + 8 + j), d = load(laid + 9 + j);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t qa = load(&x[t].splats[j]), qb = load(&x[t].splats[j + 1]);
            add_byte_products(&l[t], a, b, qa, qb, j == 0);
            add_byte_products(&h[t], c, d, qa, qb, j == 0);
        }
    }
    UNROLLED for (int t = 0; t < tokens; t++) {
        const v128_t start = load(&x[t].start);
        low[t] = wasm_i32x4_add(start, byte_rows(l[t]));
        high[t] = wasm_i32x4_add(start, byte_rows(h[t]));
    }
}
