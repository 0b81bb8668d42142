/* quad-relaxed.h: the dots of the sparse kernels, one weight vector against four activations. In: codes, a quad. Out:
 * i32 lanes. Relaxed SIMD; quad-simd128.h and quad-products.h have the same names and the same
 * results. Included by simd.h only.
 *
 *   weight vector   16 bytes [row 0..3][4 inputs], as in dot-relaxed.h        quad   4 activations in all four lanes
 *
 * Exact for the reason that dot-relaxed.h gives: nibbles are 0..15. */

struct quad { v128_t codes; };
INLINE struct quad spread(v128_t codes) { return (struct quad){codes}; }
/* The i-th of four quads side by side. */
INLINE struct quad quad_at(struct quad four, const int i) { return (struct quad){splat_lane(four.codes, i)}; }

struct nibbles { v128_t low, high; };
INLINE struct nibbles split_nibbles(v128_t codes, struct masks masks) {
    return (struct nibbles){wasm_v128_and(codes, masks.low4), wasm_v128_and(wasm_u16x8_shr(codes, 4), masks.low4)};
}
/* The dot in one of the forms of dot-relaxed.h, and the i32 lanes of its sums. Pairs hold the sums of one group.
 * ones: 1 in every i16 lane, from a register of the caller. eightfold: 8 times the activations, a quad in each i32
 * lane, in the form of the sums. */
#if defined(DOT_PAIRS)
INLINE v128_t add_dot(v128_t sum, v128_t w, v128_t x) {
    return wasm_i16x8_add(sum, wasm_i16x8_relaxed_dot_i8x16_i7x16(x, w));
}
INLINE v128_t whole(v128_t sum, v128_t ones) { return wasm_i32x4_dot_i16x8(sum, ones); }
INLINE v128_t eightfold(v128_t x, v128_t eights) { return wasm_i16x8_relaxed_dot_i8x16_i7x16(x, eights); }
/* 8 / 15 of a multiple of 15, modulo 2^16: 15 * 0xeeef is 1. */
INLINE v128_t eight_fifteenths(v128_t sum) { return wasm_i16x8_mul(sum, constant(0x77787778)); }
INLINE v128_t add_sums(v128_t a, v128_t b) { return wasm_i16x8_add(a, b); }
INLINE v128_t add_eightfold(v128_t sum, struct quad x, v128_t eights) { return add_sums(sum, eightfold(x.codes, eights)); }
INLINE v128_t sub_sums(v128_t a, v128_t b) { return wasm_i16x8_sub(a, b); }
INLINE v128_t negative(v128_t sum) { return wasm_i16x8_neg(sum); }
#else
INLINE v128_t add_dot(v128_t sum, v128_t w, v128_t x) { return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(x, w, sum); }
INLINE v128_t whole(v128_t sum, v128_t ones) { return (void)ones, sum; }
INLINE v128_t eightfold(v128_t x, v128_t eights) {
    return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(x, eights, wasm_i32x4_splat(0));
}
/* 8 / 15 of a multiple of 15, modulo 2^32: 15 * 0xeeeeeeef is 1. */
INLINE v128_t eight_fifteenths(v128_t sum) { return wasm_i32x4_mul(sum, constant(0x77777778)); }
INLINE v128_t add_sums(v128_t a, v128_t b) { return wasm_i32x4_add(a, b); }
INLINE v128_t add_eightfold(v128_t sum, struct quad x, v128_t eights) { return add_dot(sum, eights, x.codes); }
INLINE v128_t sub_sums(v128_t a, v128_t b) { return wasm_i32x4_sub(a, b); }
INLINE v128_t negative(v128_t sum) { return wasm_i32x4_neg(sum); }
#endif

/* The total added by add_eightfold(), in the form of the sums. */
INLINE v128_t all_eightfold(v128_t sum) { return sum; }
/* add_eightfold() and all_eightfold() for loops that keep the mask of nibbles in a register and have none left for
 * eights. */
INLINE v128_t add_masked(v128_t sum, struct quad x, struct masks masks) { return add_eightfold(sum, x, masks.low4); }
INLINE v128_t all_masked(v128_t sum) { return eight_fifteenths(sum); }

/* low[0] += dots with the low nibbles, high[0] += dots with the high nibbles. */
INLINE void add_nibbles(v128_t *low, v128_t *high, struct nibbles w, struct quad x) {
    *low = add_dot(*low, w.low, x.codes);
    *high = add_dot(*high, w.high, x.codes);
    pin(*low);
    pin(*high);
}
INLINE v128_t whole_nibbles(v128_t sum, v128_t second, v128_t ones) { return (void)second, whole(sum, ones); }

/* Unsigned bytes: their nibbles stay separate until whole_bytes() combines the sums. */
struct bytes { struct nibbles nibbles; };
INLINE struct bytes split_bytes(v128_t codes, struct masks masks) { return (struct bytes){split_nibbles(codes, masks)}; }
INLINE void add_bytes(v128_t *low, v128_t *high, struct bytes w, struct quad x) { add_nibbles(low, high, w.nibbles, x); }
INLINE v128_t whole_bytes(v128_t low, v128_t high, v128_t ones) {
    return wasm_i32x4_add(whole(low, ones), wasm_i32x4_shl(whole(high, ones), 4));
}

/* A byte's code is 16 times the high nibble plus the low one, and 128 is 16 times 8. */
INLINE v128_t low_start(v128_t start) { return (void)start, wasm_i32x4_splat(0); }
INLINE v128_t high_start(v128_t start) { return start; }

/* v's bytes by index: 0 where the index is 0x80 or more, undefined where it is 16 to 127. */
INLINE v128_t pick(v128_t v, v128_t index) { return wasm_i8x16_relaxed_swizzle(v, index); }
