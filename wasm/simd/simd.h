/* simd.h: the SIMD operations of the kernels. In: wasm vectors. Out: one name per operation, with a scalar definition
 * where it needs one. One #if at the end makes every choice between relaxed SIMD and plain simd128. Both builds give
 * the same bits: integer dots are exact, and there are no fused multiply-adds. */
#ifndef HALFBYTE_SIMD_H
#define HALFBYTE_SIMD_H
#include <stdint.h>
#include <wasm_simd128.h>

#include "core/abi.h"

/* With sanitizers, each file of unrolled loops takes half a minute to compile, so wasm/native defines these names
   itself. */
#ifndef INLINE
#define INLINE static inline __attribute__((always_inline))
#define ROLLED _Pragma("clang loop unroll(disable)")
#define UNROLLED _Pragma("clang loop unroll(full)")
#endif

INLINE uint32_t round_up(uint32_t value, uint32_t multiple) { return (value + multiple - 1) / multiple * multiple; }
INLINE uint32_t min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }
INLINE uint32_t max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }

INLINE uint32_t bits_of(float x) { uint32_t u; __builtin_memcpy(&u, &x, 4); return u; }
INLINE float float_of(uint32_t u) { float x; __builtin_memcpy(&x, &u, 4); return x; }

INLINE v128_t load(const void *p) { return wasm_v128_load(p); }
INLINE void store(void *p, v128_t v) { wasm_v128_store(p, v); }
/* Four copies of the 32 bits at p. */
INLINE v128_t load_splat(const void *p) { return wasm_v128_load32_splat(p); }
INLINE v128_t add(v128_t a, v128_t b) { return wasm_f32x4_add(a, b); }
INLINE v128_t sub(v128_t a, v128_t b) { return wasm_f32x4_sub(a, b); }
INLINE v128_t mul(v128_t a, v128_t b) { return wasm_f32x4_mul(a, b); }
INLINE v128_t splat(float x) { return wasm_f32x4_splat(x); }
/* Four copies of lane i, a constant. */
INLINE v128_t splat_lane(v128_t v, const int i) {
    switch (i) {
    case 0: return wasm_i32x4_shuffle(v, v, 0, 0, 0, 0);
    case 1: return wasm_i32x4_shuffle(v, v, 1, 1, 1, 1);
    case 2: return wasm_i32x4_shuffle(v, v, 2, 2, 2, 2);
    default: return wasm_i32x4_shuffle(v, v, 3, 3, 3, 3);
    }
}

/* Pins the computation of v to this place. LLVM would nest a chain of dots into one expression with all loads first,
 * and V8 would spill them. The lane is never used, so V8 drops it. (clang 19 cannot take a v128 in an asm operand.) */
INLINE void pin(v128_t v) { __asm__ volatile("" ::"r"(wasm_i32x4_extract_lane(v, 0)) : "memory"); }
/* to[i] = value for i < n, in this order. */
#define FOR_ALL(n, to, value) UNROLLED for (int i = 0; i < (n); i++) { (to)[i] = value; pin((to)[i]); }
/* Four copies of u that stay in a register. V8 rebuilds a literal vector, in three instructions, at each use. */
INLINE v128_t constant(uint32_t u) {
    __asm__ volatile("" : "+r"(u));
    return wasm_u32x4_splat(u);
}

/* (l0 + l2) + (l1 + l3): the order of every horizontal float sum. */
INLINE float sum4__ref(const float *l) { return (l[0] + l[2]) + (l[1] + l[3]); }
INLINE float sum4(v128_t v) {
    const v128_t pairs = add(v, wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
    return wasm_f32x4_extract_lane(pairs, 0) + wasm_f32x4_extract_lane(pairs, 1);
}

/* The sum of i32 lanes, modulo 2^32: codes of NaN and infinities can be arbitrary words. */
INLINE uint32_t sum_lanes(v128_t v) {
    const v128_t pairs = wasm_i32x4_add(v, wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
    return (uint32_t)wasm_i32x4_extract_lane(pairs, 0) + (uint32_t)wasm_i32x4_extract_lane(pairs, 1);
}

/* f16 scales. `half_unit` is the value of an f16 times 2^-112, made by shifts alone. SCALE_UNIT, multiplied into the
 * activation scale, removes that factor and the stored 2^SCALE_EXPONENT. Both steps are exact. */
#define SCALE_UNIT 0x1p104f
_Static_assert(SCALE_EXPONENT == 8, "SCALE_UNIT is 2^(112 - SCALE_EXPONENT)");

INLINE float half_unit__ref(uint16_t h) { return float_of((h & 0x8000u) << 16 | (h & 0x7fffu) << 13); }
/* u: low half rows 0-3, high half rows 4-7. The arithmetic shift copies the sign; the mask keeps its topmost copy. */
INLINE v128_t half_unit_high(v128_t u) { return wasm_v128_and(wasm_i32x4_shr(u, 3), wasm_u32x4_splat(0x8fffe000)); }
INLINE v128_t half_unit_low(v128_t u) { return half_unit_high(wasm_i32x4_shl(u, 16)); }

/* f16 elements, exact, subnormals included: half_unit times 2^112. Infinities and NaN are not valid weights: they are
   read as finite numbers from 65536 up. */
INLINE float half__ref(uint16_t h) { return half_unit__ref(h) * 0x1p112f; }
struct half_constants { v128_t mask, factor; };
INLINE struct half_constants half_constants(void) {
    return (struct half_constants){constant(0x8fffe000), constant(bits_of(0x1p112f))};
}
/* u: an f16 in the upper half of each lane. */
INLINE v128_t half(v128_t u, struct half_constants c) {
    return mul(wasm_v128_and(wasm_i32x4_shr(u, 3), c.mask), c.factor);
}
INLINE float bfloat__ref(uint16_t h) { return float_of((uint32_t)h << 16); }
/* Eight 16-bit elements, each in the upper half of a lane: elements 0-3, elements 4-7. */
INLINE v128_t widen_low(v128_t v) {
    return wasm_i16x8_shuffle(wasm_i32x4_splat(0), v, 0, 8, 1, 9, 2, 10, 3, 11);
}
INLINE v128_t widen_high(v128_t v) {
    return wasm_i16x8_shuffle(wasm_i32x4_splat(0), v, 4, 12, 5, 13, 6, 14, 7, 15);
}

/* Adding and subtracting 1.5 * 2^23 rounds to the nearest integer, ties to even; the integer is in the low bits. */
#define ROUNDER 0x1.8p23f

/* e^x, x first clamped to [-87, 88]; relative error below 1.2e-7 (a test measures it). NaN stays NaN. */
INLINE float exp__ref(float x) {
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float t = x * 0x1.715476p0f + ROUNDER;
    const float n = t - ROUNDER;
    const float r = (x - n * 0x1.63p-1f) - n * -0x1.bd0106p-13f; /* ln 2 in two parts; n times the first is exact */
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * (r * r) + r) + 1.0f;
    return float_of(bits_of(p) + (bits_of(t) << 23));
}
struct exp_constants { v128_t least, most, log2e, rounder, ln2_high, ln2_low, p[7]; };
INLINE struct exp_constants exp_constants(void) {
    const float c[13] = {-87.0f, 88.0f, 0x1.715476p0f, ROUNDER, 0x1.63p-1f, -0x1.bd0106p-13f, 1.9875691500e-4f,
                         1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f, 1.0f};
    v128_t v[13];
    UNROLLED for (int i = 0; i < 13; i++) v[i] = constant(bits_of(c[i]));
    return (struct exp_constants){v[0], v[1], v[2], v[3], v[4], v[5], {v[6], v[7], v[8], v[9], v[10], v[11], v[12]}};
}
INLINE v128_t exp4(v128_t x, const struct exp_constants *c) {
    x = wasm_f32x4_pmin(wasm_f32x4_pmax(x, c->least), c->most);
    const v128_t t = add(mul(x, c->log2e), c->rounder), n = sub(t, c->rounder);
    const v128_t r = sub(sub(x, mul(n, c->ln2_high)), mul(n, c->ln2_low));
    v128_t p = c->p[0];
    UNROLLED for (int i = 1; i < 6; i++) p = add(mul(p, r), c->p[i]);
    p = add(add(mul(p, mul(r, r)), r), c->p[6]);
    return wasm_i32x4_add(p, wasm_i32x4_shl(t, 23));
}
/* x[i] = e^x[i] of n <= 4 vectors, step by step for all of them: a single one would stall on its own results. */
INLINE void exp_vectors(v128_t *x, const int n, const struct exp_constants *c) {
    v128_t t[4], p[4];
    FOR_ALL(n, x, wasm_f32x4_pmin(wasm_f32x4_pmax(x[i], c->least), c->most))
    FOR_ALL(n, t, add(mul(x[i], c->log2e), c->rounder))
    FOR_ALL(n, p, sub(t[i], c->rounder))
    FOR_ALL(n, x, sub(sub(x[i], mul(p[i], c->ln2_high)), mul(p[i], c->ln2_low)))
    FOR_ALL(n, p, add(mul(c->p[0], x[i]), c->p[1]))
    UNROLLED for (int j = 2; j < 6; j++) FOR_ALL(n, p, add(mul(p[i], x[i]), c->p[j]))
    FOR_ALL(n, p, mul(p[i], mul(x[i], x[i])))
    FOR_ALL(n, p, add(add(p[i], x[i]), c->p[6]))
    FOR_ALL(n, x, wasm_i32x4_add(p[i], wasm_i32x4_shl(t[i], 23)))
}

/* Forms of the integer dots: dot-relaxed.h and dot-simd128.h. */
enum dot_form { BY_QUADS, BY_PAIRS, BY_WIDE, BY_PRODUCTS, DOT_FORMS };
#if defined(__wasm_relaxed_simd__)
#include "simd/dot-relaxed.h"
#include "simd/gather-relaxed.h"
#include "simd/quad-relaxed.h"
#else
#include "simd/dot-simd128.h"
#include "simd/gather-simd128.h"
#if defined(DOT_PRODUCTS)
#include "simd/quad-products.h"
#else
#include "simd/quad-simd128.h"
#endif
#endif
#endif
