/* dot-simd128.h: code shared by the forms of the plain dot, and the choice of form for this machine. Included by simd.h
 * only.
 *
 *   weight vector   16 bytes [row 0..3][input 4j..4j+3]        activations   i8 [32], one group of one token
 *
 *   quads      i32x4.dot_i16x8_s of codes widened to i16: one instruction on x64, four on Arm (dot-words.h)
 *   products   i16x8.extmul_low/high_i8x16_s, summed in i16: two instructions and two additions for twice as many
 *              products on Arm, a widening of both operands on x64 (dot-products.h)
 *
 * Both are exact, so their results are the same. */

/* The form for this machine. Plain SIMD has the same results everywhere, except for the sign of a NaN produced by an
 * instruction: it is set on x64, but not on Arm. A wrong guess only costs time. The zero is read from memory, because
 * compilers may fold a constant division. */
INLINE enum dot_form best_dots(void) {
    volatile float zero = 0;
    return bits_of(zero / zero) >> 31 ? BY_QUADS : BY_PRODUCTS;
}
#define WITH_PAIRS(name) name
#define WITH_WIDE(name) name
#define WITH_PRODUCTS(name) name##__products
/* DOTS_16: for kernels without a wide form. This build has no wide form at all, so it equals DOTS. */
#define DOTS_16(name) DOTS(name)

/* Tokens whose sums fit in the registers together. */
#define TOKEN_TILE 4
enum { BLOCK_ROWS = TOKEN_TILE };

/* Only relaxed dots have an unsigned operand. */
INLINE int has_unsigned_dots(void) { return 0; }

INLINE v128_t dot_pairs(v128_t acc, v128_t w, v128_t x) {
    acc = wasm_i32x4_add(acc, wasm_i32x4_dot_i16x8(w, x));
    pin(acc);
    return acc;
}

/* As in dot-relaxed.h. Tiles of four rows are no faster than tiles of two, and their code is twice as long. */
enum { CRUMB_TILE = 2, ROLLED_CRUMBS = 0 };

#if defined(DOT_PRODUCTS)
#define DOTS(name) WITH_PRODUCTS(name)
#include "simd/dot-products.h"
#else
#define DOTS(name) name
#include "simd/dot-words.h"
#endif

/* Whether products of words are summed lane by lane, which on Arm costs half as much as dots. */
#if defined(DOT_PRODUCTS)
#define HAS_HALVES 1
#else
#define HAS_HALVES 0
#endif
/* The relaxed build's dot of a plane of 0..127 would be no use here, because wider factors cost the same. */
#define HAS_PLANES 0
INLINE v128_t dot_plane(v128_t codes, v128_t factors, v128_t acc) {
    return (void)codes, (void)factors, acc;
}
INLINE void dot_unsigned_bytes(v128_t *low, v128_t *high, const uint8_t *w, const struct activations *x, int tokens) {
    (void)low, (void)high, (void)w, (void)x, (void)tokens;
}
