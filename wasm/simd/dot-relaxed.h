/* dot-relaxed.h: code shared by the forms of the relaxed dot, and the choice of form for this machine. Included by
 * simd.h only.
 *
 *   weight vector   16 bytes [row 0..3][input 4j..4j+3]        activations   i8 [32], one group of one token
 *   lane r of a sum belongs to row r: a 4-byte splat of the activations meets four rows at once.
 *
 *   quads   i32x4.relaxed_dot_i8x16_i7x16_add_s: one instruction on Arm (sdot) and on x64 with AVX-VNNI (vpdpbusd),
 *           five on other x64
 *   pairs   i16x8.relaxed_dot_i8x16_i7x16_s, summed in i16 over a group: one instruction (pmaddubsw) and an addition on
 *           any x64, four on Arm
 *   wide    quads with a signed second operand, in tiles for 32 registers: linear-wide.c. Other kernels then use quads
 *
 * Quads and pairs are exact while the second operand is 0..127; nibbles are 0..15. The kernels are compiled once for
 * each. Quads with a second operand of 0..255 are exact only on x64 with AVX-VNNI. In wide kernels the second operand
 * is -127..127. The sum of two products is then an i16: V8's baseline compiler adds two products in i16 on Arm where
 * its optimising compiler uses sdot. */

/* Tokens whose sums fit in the registers together. */
#define TOKEN_TILE 4

/* One group of one token, ready for the dots. */
struct activations { const int8_t *codes; };
INLINE void prepare(struct activations *x, const int8_t *codes) { x->codes = codes; }

struct masks { v128_t low4, low2, mid2; };
INLINE struct masks masks(void) {
    return (struct masks){constant(0x0f0f0f0f), constant(0x03030303), constant(0x30303030)};
}

/* The quad dot of four 127 with four bytes of 255, or -1. */
INLINE int32_t dot_of_extremes(void) {
    const v128_t sums = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(constant(0x7f7f7f7f), constant(0xffffffff), constant(0));
    return wasm_i32x4_extract_lane(sums, 0);
}
/* The form for this machine, found by testing its dot. On Arm the second operand is signed. On x64, if the sum of two
 * products of 127 * 255 saturates, the quad dot is made of pair dots; VNNI adds four products at once. */
INLINE enum dot_form best_dots(void) {
    switch (dot_of_extremes()) {
    case 4 * -127: return BY_WIDE;
    case 2 * INT16_MAX: return BY_PAIRS;
    default: return BY_QUADS;
    }
}
/* Whether quads are exact for a second operand of 0..255, as on x64 with AVX-VNNI. */
INLINE int has_unsigned_dots(void) { return dot_of_extremes() == 4 * 127 * 255; }

/* For many rows: one group of one row with every splat ready, its scale, the start of its sums, and the scale times the
 * sum of its codes. */
struct token { v128_t splats[8], scale, start, offset; };
INLINE void lay_splats(struct token *token, const int8_t *codes) {
    UNROLLED for (int i = 0; i < 2; i++) {
        const v128_t q = load(codes + 16 * i);
        UNROLLED for (int j = 0; j < 4; j++) store(&token->splats[4 * i + j], splat_lane(q, j));
    }
}
/* The laid codes of a block: LAID_NIBBLES vectors of nibbles, or LAID_BYTES of bytes, high nibbles first. */
enum { LAID_NIBBLES = 16, LAID_BYTES = 32 };
INLINE void lay_nibbles(v128_t *laid, const uint8_t *w, struct masks masks) {
    UNROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t codes = load(w + 16 * j);
        store(laid + 2 * j, wasm_v128_and(codes, masks.low4));
        store(laid + 2 * j + 1, wasm_v128_and(wasm_u16x8_shr(codes, 4), masks.low4));
    }
}
/* Rows in a tile of linear-w2.c, and the maximum number of rows for which its panel loop is faster without
 * unrolling. */
enum { CRUMB_TILE = TOKEN_TILE, ROLLED_CRUMBS = 2 };
INLINE void lay_crumbs(v128_t *laid, const uint8_t *w, struct masks masks) {
    UNROLLED for (uint32_t i = 0; i < 16; i++) {
        store(laid + i, wasm_v128_and(wasm_u16x8_shr(load(w + i / 4 * 16), i % 4 * 2), masks.low2));
    }
}
INLINE void lay_bytes(v128_t *laid, const uint8_t *w, struct masks masks) {
    UNROLLED for (uint32_t i = 0; i < 16; i++) {
        const v128_t codes = load(w + 16 * i);
        store(laid + i, wasm_v128_and(wasm_u16x8_shr(codes, 4), masks.low4));
        store(laid + 16 + i, wasm_v128_and(codes, masks.low4));
    }
}

#define WITH_PAIRS(name) name##__pairs
#define WITH_WIDE(name) name##__wide
#define WITH_PRODUCTS(name) name
/* DOTS_16: for kernels without a wide form. They use quads instead. BLOCK_ROWS: rows of a tile of linear-blocks.h,
 * which only the form with more than TOKEN_TILE uses. */
#if defined(DOT_PAIRS)
enum { BLOCK_ROWS = TOKEN_TILE };
#define DOTS_16(name) WITH_PAIRS(name)
#define DOTS(name) WITH_PAIRS(name)
#include "simd/dot-pairs.h"
#elif defined(DOT_WIDE)
enum { BLOCK_ROWS = TOKEN_TILE };
#define DOTS_16(name) name
#define DOTS(name) WITH_WIDE(name)
#include "simd/dot-quads.h"
#else
enum { BLOCK_ROWS = 5 };
/* Beside the code of such tiles, that for few rows would be slower. */
#define FEW_ROWS static __attribute__((noinline))
#define DOTS_16(name) name
#define DOTS(name) name
#include "simd/dot-quads.h"
#endif

/* The stored byte that dot_bytes() and dot_laid_bytes() multiply as 0. The initial sums account for the difference. */
enum { BYTE_ZERO = 0 };
/* dot[t] += dots with the unsigned bytes of 8 vectors, `step` bytes apart: 16 times the high nibbles plus the low
 * ones. */
INLINE void dot_bytes(v128_t *dot, const uint8_t *w, uint32_t step, const struct activations *x, struct masks masks,
                      int tokens) {
    v128_t high[TOKEN_TILE];
    UNROLLED for (int t = 0; t < tokens; t++) high[t] = wasm_i32x4_splat(0);
    dot_nibbles(dot, high, w, step, x, masks, tokens);
    UNROLLED for (int t = 0; t < tokens; t++) dot[t] = wasm_i32x4_add(dot[t], wasm_i32x4_shl(high[t], 4));
}

/* Dots of four i8 codes in each lane with four factors of 0..127. Where pairs are faster, wider factors in i16 are
 * faster still. */
#if defined(DOT_PAIRS)
#define HAS_PLANES 0
#else
#define HAS_PLANES 1
#endif
/* With relaxed dots, Arm uses planes. */
#define HAS_HALVES 0
INLINE v128_t dot_plane(v128_t codes, v128_t factors, v128_t acc) {
    return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(codes, factors, acc);
}
