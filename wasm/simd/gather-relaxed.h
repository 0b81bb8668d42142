/* gather-relaxed.h: dots of kept weights with gathered activations, in pairs into i16. In: weights, tables of 16
 * activations, indices. Out: i16 lanes. Relaxed SIMD; gather-simd128.h has the same names and the same results.
 * Included by simd.h only.
 *
 *   weight vector   16 bytes [row 0..7][2 kept weights], signed         index   16 bytes, 0..15, of the same weights
 *
 * w4: activations are the second operand of the dot. Some machines (Arm) read its top bit as a sign, others (x64) do
 * not. Both are exact: where it is not a sign, the table holds activations + 128, and 128 times the sum of the weights
 * is subtracted. The code tests which one this machine does. A lane: at most 8 * 2 * 8 * 255 = 32640.
 * w8: the table holds the two nibbles of activations + 128 apart, 0..15. A lane: at most 8 * 2 * 127 * 15 = 30480. */

/* flip: turns activations into the entries of the table. factor: of the sum of weights, i16. */
struct lookup { v128_t low4, eight, flip, factor, weigh; };
INLINE struct lookup lookup(const int wide) {
    const v128_t dot = wasm_i16x8_relaxed_dot_i8x16_i7x16(constant(0x00010001), constant(0xffffffff));
    const uint32_t is_unsigned = wide || wasm_i16x8_extract_lane(dot, 0) > 0;
    return (struct lookup){constant(0x0f0f0f0f), constant(0x08080808), constant(is_unsigned ? 0x80808080 : 0),
                           constant(is_unsigned ? 0x00800080 : 0), constant(0x00100001)};
}

struct table { v128_t low, high; };
INLINE struct table make_table(v128_t flipped, struct lookup c, const int wide) {
    if (!wide) return (struct table){flipped, flipped};
    return (struct table){wasm_v128_and(flipped, c.low4), wasm_v128_and(wasm_u16x8_shr(flipped, 4), c.low4)};
}

/* The 16 codes in the low nibbles and the 16 in the high nibbles, minus the zero code. */
struct pair { v128_t w; };
struct pairs { struct pair low, high; };
INLINE struct pairs split_pairs(v128_t codes, struct lookup c) {
    return (struct pairs){{wasm_i8x16_sub(wasm_v128_and(codes, c.low4), c.eight)},
                          {wasm_i8x16_sub(wasm_v128_and(wasm_u16x8_shr(codes, 4), c.low4), c.eight)}};
}

/* The sums of one panel and one row of x. */
struct pair_sums { v128_t low, high; };
INLINE void add_pair(struct pair_sums *sums, struct pair w, struct table x, v128_t index, struct lookup c) {
    (void)c;
    const v128_t picked = wasm_i8x16_relaxed_swizzle(x.low, index);
    sums->low = wasm_i16x8_add(sums->low, wasm_i16x8_relaxed_dot_i8x16_i7x16(w.w, picked));
    pin(sums->low);
}
INLINE void add_wide_pair(struct pair_sums *sums, v128_t w, struct table x, v128_t index) {
    const v128_t low = wasm_i8x16_relaxed_swizzle(x.low, index), high = wasm_i8x16_relaxed_swizzle(x.high, index);
    sums->low = wasm_i16x8_add(sums->low, wasm_i16x8_relaxed_dot_i8x16_i7x16(w, low));
    sums->high = wasm_i16x8_add(sums->high, wasm_i16x8_relaxed_dot_i8x16_i7x16(w, high));
    pin(sums->low);
    pin(sums->high);
}

/* Where the sums of w8 start. weights: i16 [8], 8 times the sums of the weights. */
INLINE struct pair_sums wide_start_of(const void *weights, struct lookup c) {
    const v128_t zero = wasm_i16x8_splat(0);
    return (void)c, (struct pair_sums){zero, wasm_i16x8_sub(zero, load(weights))};
}
/* The i32 lanes of rows 0-3 and of rows 4-7. */
INLINE v128_t first_rows(struct pair_sums sums, struct lookup c, const int wide) {
    if (!wide) return wasm_i32x4_extend_low_i16x8(sums.low);
    return wasm_i32x4_dot_i16x8(wasm_i16x8_shuffle(sums.low, sums.high, 0, 8, 1, 9, 2, 10, 3, 11), c.weigh);
}
INLINE v128_t last_rows(struct pair_sums sums, struct lookup c, const int wide) {
    if (!wide) return wasm_i32x4_extend_high_i16x8(sums.low);
    return wasm_i32x4_dot_i16x8(wasm_i16x8_shuffle(sums.low, sums.high, 4, 12, 5, 13, 6, 14, 7, 15), c.weigh);
}
