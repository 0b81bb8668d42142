/* gather-simd128.h: dots of kept weights with gathered activations. In: weights of 8 bits, tables of 16 activations,
 * indices. Out: i32 lanes. Plain simd128; gather-relaxed.h has the same names and the same results. Included by simd.h
 * only.
 *
 *   weight vector   16 bytes [row 0..7][2 kept weights], signed         index   16 bytes, 0..15, of the same weights */

struct lookup { v128_t low4, flip; };
INLINE struct lookup lookup(void) { return (struct lookup){constant(0x0f0f0f0f), constant(0)}; }

struct table { v128_t codes; };
INLINE struct table make_table(v128_t flipped, struct lookup c) { return (void)c, (struct table){flipped}; }

/* The sums of one panel and one row of x. */
struct pair_sums { v128_t low, high; };
INLINE void add_pair(struct pair_sums *sums, v128_t w, struct table x, v128_t index) {
    const v128_t picked = wasm_i8x16_swizzle(x.codes, index);
    sums->low = dot_pairs(sums->low, wasm_i16x8_extend_low_i8x16(w), wasm_i16x8_extend_low_i8x16(picked));
    sums->high = dot_pairs(sums->high, wasm_i16x8_extend_high_i8x16(w), wasm_i16x8_extend_high_i8x16(picked));
}

/* The initial sums. weights: i16 [8], 8 times the sums of the weights. */
INLINE struct pair_sums start_of_pairs(const void *weights) {
    const v128_t zero = wasm_i16x8_splat(0);
    return (void)weights, (struct pair_sums){zero, zero};
}
/* The i32 lanes of rows 0-3 and of rows 4-7. */
INLINE v128_t first_rows(struct pair_sums sums, struct lookup c) { return (void)c, sums.low; }
INLINE v128_t last_rows(struct pair_sums sums, struct lookup c) { return (void)c, sums.high; }
