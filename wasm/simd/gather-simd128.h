/* gather-simd128.h: dots of kept weights with gathered activations. In: weights, tables of 16 activations, indices.
 * Out: i16 lanes (w4) or i32 lanes (w8). Plain simd128; gather-relaxed.h has the same names and the same results.
 * Included by simd.h only.
 *
 *   weight vector   16 bytes [row 0..7][2 kept weights], signed         index   16 bytes, 0..15, of the same weights
 *
 * w4: the table holds activations + 128, whose bytes widen with one instruction. A lane: at most 16 * 8 * 255 =
 * 32640. */

struct lookup { v128_t low4, low8, zero_codes, flip, factor; };
INLINE struct lookup lookup(const int wide) {
    return (struct lookup){constant(0x0f0f0f0f), constant(0x00ff00ff), constant(0x88888888), constant(wide ? 0 : 0x80808080),
                           constant(0x00800080)};
}

struct table { v128_t codes; };
INLINE struct table make_table(v128_t flipped, struct lookup c, const int wide) {
    return (void)c, (void)wide, (struct table){flipped};
}

/* The 16 codes in the low nibbles and the 16 in the high nibbles, minus the zero code: first weights of the rows, then
 * second ones. */
struct pair { v128_t first, second; };
struct pairs { struct pair low, high; };
INLINE struct pairs split_pairs(v128_t codes, struct lookup c) {
    const v128_t signs = wasm_v128_xor(codes, c.zero_codes);
    return (struct pairs){{wasm_i16x8_shr(wasm_i16x8_shl(signs, 12), 12), wasm_i16x8_shr(wasm_i16x8_shl(signs, 4), 12)},
                          {wasm_i16x8_shr(wasm_i16x8_shl(signs, 8), 12), wasm_i16x8_shr(signs, 12)}};
}

/* The sums of one panel and one row of x. */
struct pair_sums { v128_t low, high; };
INLINE void add_pair(struct pair_sums *sums, struct pair w, struct table x, v128_t index, struct lookup c) {
    const v128_t picked = wasm_i8x16_swizzle(x.codes, index);
    sums->low = wasm_i16x8_add(sums->low, wasm_i16x8_mul(w.first, wasm_v128_and(picked, c.low8)));
    sums->low = wasm_i16x8_add(sums->low, wasm_i16x8_mul(w.second, wasm_u16x8_shr(picked, 8)));
    pin(sums->low);
}
INLINE void add_wide_pair(struct pair_sums *sums, v128_t w, struct table x, v128_t index) {
    const v128_t picked = wasm_i8x16_swizzle(x.codes, index);
    sums->low = dot_pairs(sums->low, wasm_i16x8_extend_low_i8x16(w), wasm_i16x8_extend_low_i8x16(picked));
    sums->high = dot_pairs(sums->high, wasm_i16x8_extend_high_i8x16(w), wasm_i16x8_extend_high_i8x16(picked));
}

/* Where the sums of w8 start. weights: i16 [8], 8 times the sums of the weights. */
INLINE struct pair_sums wide_start_of(const void *weights, struct lookup c) {
    const v128_t zero = wasm_i16x8_splat(0);
    return (void)weights, (void)c, (struct pair_sums){zero, zero};
}
/* The i32 lanes of rows 0-3 and of rows 4-7. */
INLINE v128_t first_rows(struct pair_sums sums, struct lookup c, const int wide) {
    return (void)c, wide ? sums.low : wasm_i32x4_extend_low_i16x8(sums.low);
}
INLINE v128_t last_rows(struct pair_sums sums, struct lookup c, const int wide) {
    return (void)c, wide ? sums.high : wasm_i32x4_extend_high_i16x8(sums.low);
}
