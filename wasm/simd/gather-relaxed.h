/* gather-relaxed.h: dots of kept weights with gathered activations, in pairs into i16. In: weights of 8 bits, tables of
 * 16 activations, indices. Out: i16 lanes. Relaxed SIMD; gather-simd128.h has the same names and the same results.
 * Included by simd.h only.
 *
 *   weight vector   16 bytes [row 0..7][2 kept weights], signed         index   16 bytes, 0..15, of the same weights
 *
 * Activations are the second operand of the dot, which is signed on some machines (Arm) and unsigned on others (x64).
 * So the table holds the two nibbles of activations + 128 apart, 0..15. A lane: at most 8 * 2 * 127 * 15 = 30480. */

/* flip: turns activations into entries of the table. */
struct lookup { v128_t low4, flip, weigh; };
INLINE struct lookup lookup(void) {
    return (struct lookup){constant(0x0f0f0f0f), constant(0x80808080), constant(0x00100001)};
}

struct table { v128_t low, high; };
INLINE struct table make_table(v128_t flipped, struct lookup c) {
    return (struct table){wasm_v128_and(flipped, c.low4), wasm_v128_and(wasm_u16x8_shr(flipped, 4), c.low4)};
}

/* The sums of one panel and one row of x. */
struct pair_sums { v128_t low, high; };
INLINE void add_pair(struct pair_sums *sums, v128_t w, struct table x, v128_t index) {
    const v128_t low = wasm_i8x16_relaxed_swizzle(x.low, index), high = wasm_i8x16_relaxed_swizzle(x.high, index);
    sums->low = wasm_i16x8_add(sums->low, wasm_i16x8_relaxed_dot_i8x16_i7x16(w, low));
    sums->high = wasm_i16x8_add(sums->high, wasm_i16x8_relaxed_dot_i8x16_i7x16(w, high));
    pin(sums->low);
    pin(sums->high);
}

/* The initial sums. weights: i16 [8], 8 times the sums of the weights. */
INLINE struct pair_sums start_of_pairs(const void *weights) {
    const v128_t zero = wasm_i16x8_splat(0);
    return (struct pair_sums){zero, wasm_i16x8_sub(zero, load(weights))};
}
/* The i32 lanes of rows 0-3 and of rows 4-7. */
INLINE v128_t first_rows(struct pair_sums sums, struct lookup c) {
    return wasm_i32x4_dot_i16x8(wasm_i16x8_shuffle(sums.low, sums.high, 0, 8, 1, 9, 2, 10, 3, 11), c.weigh);
}
INLINE v128_t last_rows(struct pair_sums sums, struct lookup c) {
    return wasm_i32x4_dot_i16x8(wasm_i16x8_shuffle(sums.low, sums.high, 4, 12, 5, 13, 6, 14, 7, 15), c.weigh);
}
