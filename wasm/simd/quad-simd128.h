/* quad-simd128.h: the dots of the sparse kernels, one weight vector against four activations. In: codes, a quad. Out:
 * i32 lanes. Plain simd128; quad-products.h and quad-relaxed.h have the same names and the same
 * results. Included by simd.h only.
 *
 *   weight vector   16 bytes [row 0..3][4 inputs], as in dot-simd128.h
 *   quad            4 activations in all four lanes, as i16: inputs 0 and 2, inputs 1 and 3 */

struct quad { v128_t even, odd; };
INLINE struct quad spread(v128_t codes) {
    return (struct quad){wasm_i16x8_shr(wasm_i16x8_shl(codes, 8), 8), wasm_i16x8_shr(codes, 8)};
}
/* The i-th of four quads side by side. */
INLINE struct quad quad_at(struct quad four, const int i) {
    return (struct quad){splat_lane(four.even, i), splat_lane(four.odd, i)};
}

struct nibbles { v128_t low_even, low_odd, high_even, high_odd; };
INLINE struct nibbles split_nibbles(v128_t codes, struct masks masks) {
    return (struct nibbles){wasm_v128_and(codes, masks.low4), wasm_v128_and(wasm_u16x8_shr(codes, 8), masks.low4),
                            wasm_v128_and(wasm_u16x8_shr(codes, 4), masks.low4), wasm_u16x8_shr(codes, 12)};
}
/* The i32 lanes of a sum. */
INLINE v128_t whole_nibbles(v128_t sum, v128_t second, v128_t ones) { return (void)second, (void)ones, sum; }
/* 8 times the activations, a quad in each lane. */
INLINE v128_t eightfold(v128_t x, v128_t eights) {
    return (void)eights, wasm_i32x4_shl(wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_extadd_pairwise_i8x16(x)), 3);
}
INLINE v128_t add_sums(v128_t a, v128_t b) { return wasm_i32x4_add(a, b); }
/* Adds a quad in i16. all_eightfold() then takes 8 times the sums of pairs. */
INLINE v128_t add_eightfold(v128_t sum, struct quad x, v128_t eights) {
    return (void)eights, wasm_i16x8_add(sum, wasm_i16x8_add(x.even, x.odd));
}
INLINE v128_t all_eightfold(v128_t sum) { return wasm_i32x4_shl(wasm_i32x4_extadd_pairwise_i16x8(sum), 3); }
INLINE v128_t add_masked(v128_t sum, struct quad x, struct masks masks) { return add_eightfold(sum, x, masks.low4); }
INLINE v128_t all_masked(v128_t sum) { return all_eightfold(sum); }
INLINE v128_t sub_sums(v128_t a, v128_t b) { return wasm_i32x4_sub(a, b); }
INLINE v128_t negative(v128_t sum) { return wasm_i32x4_neg(sum); }

/* low[0] += dots with the low nibbles, high[0] += dots with the high nibbles. */
INLINE void add_nibbles(v128_t *low, v128_t *high, struct nibbles w, struct quad x) {
    *low = dot_pairs(*low, w.low_even, x.even);
    *high = dot_pairs(*high, w.high_even, x.even);
    *low = dot_pairs(*low, w.low_odd, x.odd);
    *high = dot_pairs(*high, w.high_odd, x.odd);
}

/* Unsigned bytes: one sum holds whole bytes; `high` does not change. */
struct bytes { v128_t even, odd; };
INLINE struct bytes split_bytes(v128_t codes, struct masks masks) {
    return (struct bytes){wasm_v128_and(codes, masks.low8), wasm_u16x8_shr(codes, 8)};
}
INLINE void add_bytes(v128_t *low, v128_t *high, struct bytes w, struct quad x) {
    (void)high;
    *low = dot_pairs(*low, w.even, x.even);
    *low = dot_pairs(*low, w.odd, x.odd);
}
INLINE v128_t whole_bytes(v128_t low, v128_t high, v128_t ones) { return (void)high, (void)ones, low; }

INLINE v128_t low_start(v128_t start) { return wasm_i32x4_shl(start, 4); }
INLINE v128_t high_start(v128_t start) { return (void)start, wasm_i32x4_splat(0); }

/* v's bytes by index: 0 where the index is 0x80 or more, undefined where it is 16 to 127. */
INLINE v128_t pick(v128_t v, v128_t index) { return wasm_i8x16_swizzle(v, index); }
