/* quad-products.h: the dots of the sparse kernels, one weight vector against four activations. In: codes, a quad. Out:
 * i32 lanes. By the products of dot-products.h; quad-simd128.h and quad-relaxed.h have the same names and the same
 * results. Included by simd.h only.
 *
 *   weight vector   16 bytes [row 0..3][4 inputs], as in dot-simd128.h        quad   4 activations in all four lanes
 *
 * Nibbles: two i16 sums [row 0: 4 inputs | row 1: 4 inputs], [row 2 | row 3], of one group. Zero codes are subtracted
 * there: each lane of a quad's start has 4 times the sum of two activations, so the four lanes of a row have 8 times
 * the sum of four. Two lanes are added before they widen: at most 8 * (11 * 256 + 4 * 254) = 30656. Bytes: two i32
 * sums, signed as in dot-products.h, where the zero code is 0. */

struct quad { v128_t codes; };
INLINE struct quad spread(v128_t codes) { return (struct quad){codes}; }
/* The i-th of four quads side by side. */
INLINE struct quad quad_at(struct quad four, const int i) { return (struct quad){splat_lane(four.codes, i)}; }

struct nibbles { v128_t low, high; };
INLINE struct nibbles split_nibbles(v128_t codes, struct masks masks) {
    return (struct nibbles){wasm_v128_and(codes, masks.low4), wasm_u8x16_shr(codes, masks.nibble)};
}

/* Starts of four quads: each i32 lane holds 4 times the sums of two pairs of activations. */
INLINE v128_t eightfold(v128_t x, v128_t eights) {
    return (void)eights, wasm_i16x8_shl(wasm_i16x8_extadd_pairwise_i8x16(x), 2);
}
INLINE v128_t add_sums(v128_t a, v128_t b) { return wasm_i16x8_add(a, b); }
/* Adds a quad. all_eightfold() then takes 4 times the sums of pairs. */
INLINE v128_t add_eightfold(v128_t sum, struct quad x, v128_t eights) {
    return (void)eights, wasm_i16x8_add(sum, wasm_i16x8_extadd_pairwise_i8x16(x.codes));
}
INLINE v128_t all_eightfold(v128_t sum) { return wasm_i16x8_shl(sum, 2); }
INLINE v128_t add_masked(v128_t sum, struct quad x, struct masks masks) { return add_eightfold(sum, x, masks.low4); }
INLINE v128_t all_masked(v128_t sum) { return all_eightfold(sum); }
INLINE v128_t sub_sums(v128_t a, v128_t b) { return wasm_i16x8_sub(a, b); }
INLINE v128_t negative(v128_t sum) { return wasm_i16x8_neg(sum); }

/* sums[0], sums[1] += products of rows 0 and 1, and of rows 2 and 3. */
INLINE void add_nibble_products(v128_t *sums, v128_t codes, struct quad x) {
    struct halves halves = {sums[0], sums[1]};
    add_products(&halves, codes, x.codes, 0);
    sums[0] = halves.first;
    sums[1] = halves.last;
}
/* low[0..1] += products with the low nibbles, high[0..1] += products with the high nibbles. */
INLINE void add_nibbles(v128_t *low, v128_t *high, struct nibbles w, struct quad x) {
    add_nibble_products(low, w.low, x);
    add_nibble_products(high, w.high, x);
}
INLINE v128_t whole_nibbles(v128_t first, v128_t last, v128_t ones) {
    return (void)ones, nibble_rows((struct halves){first, last});
}

struct bytes { v128_t codes; };
INLINE struct bytes split_bytes(v128_t codes, struct masks masks) {
    return (struct bytes){wasm_v128_xor(codes, masks.flip)};
}
/* One product of bytes, 128 * 128, fits an i16. */
INLINE void add_bytes(v128_t *first, v128_t *last, struct bytes w, struct quad x) {
    *first = wasm_i32x4_add(*first, wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_extmul_low_i8x16(w.codes, x.codes)));
    *last = wasm_i32x4_add(*last, wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_extmul_high_i8x16(w.codes, x.codes)));
    pin(*first);
    pin(*last);
}
INLINE v128_t whole_bytes(v128_t first, v128_t last, v128_t ones) {
    return (void)ones, byte_rows((struct halves){first, last});
}
INLINE v128_t low_start(v128_t start) { return (void)start, wasm_i32x4_splat(0); }
INLINE v128_t high_start(v128_t start) { return (void)start, wasm_i32x4_splat(0); }

/* v's bytes by index: 0 where the index is 0x80 or more, undefined where it is 16 to 127. */
INLINE v128_t pick(v128_t v, v128_t index) { return wasm_i8x16_swizzle(v, index); }
