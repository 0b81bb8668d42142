/* exp2.h: 2^x for x <= 0, as softmax needs it. In: f32, at most 0. Out: f32.                                   exact
 *
 *   x = n + r, n the nearest integer, r exact            2^r = 1 + r p(r), p of degree 4, least error over -0.5..0.5
 *   relative error below 2^-22 = 2.4e-7 (a test measures 1.9e-7); 2^0 is 1
 *   x below -126 counts as -126: a weight of 2^-126 next to one of 1 is lost in every sum */
#ifndef HALFBYTE_EXP2_H
#define HALFBYTE_EXP2_H
#include "simd/simd.h"

#define EXP2_LEAST -126.0f
static const float exp2_terms[5] = {0x1.62e42ap-1f, 0x1.ebf9bcp-3f, 0x1.c6b752p-5f, 0x1.3cea88p-7f, 0x1.5bba14p-10f};

INLINE float exp2__ref(float x) {
    x = x < EXP2_LEAST ? EXP2_LEAST : x;
    const float t = x + ROUNDER, r = x - (t - ROUNDER), square = r * r;
    const float low = exp2_terms[1] * r + exp2_terms[0], middle = exp2_terms[3] * r + exp2_terms[2];
    const float p = (exp2_terms[4] * square + middle) * square + low;
    return float_of(bits_of(p * r + 1.0f) + (bits_of(t) << 23));
}

struct exp2_constants { v128_t least, rounder, one, terms[5]; };
INLINE struct exp2_constants exp2_constants(void) {
    struct exp2_constants c = {constant(bits_of(EXP2_LEAST)), constant(bits_of(ROUNDER)), constant(bits_of(1)), {{0}}};
    UNROLLED for (int i = 0; i < 5; i++) c.terms[i] = constant(bits_of(exp2_terms[i]));
    return c;
}
/* With four or more vectors, all vectors finish a step before any starts the next. LLVM would otherwise emit one
   vector's whole chain after another, and a processor with a small instruction window stalls on each. */
INLINE v128_t abreast(v128_t v, const int n) {
    if (n >= 4) pin(v);
    return v;
}
/* x[i] = 2^x[i] of n vectors, step by step for all of them: a single one would stall on its own results. */
#define EACH UNROLLED for (int i = 0; i < n; i++)
INLINE void exp2_vectors(v128_t *x, const int n, const struct exp2_constants *c) {
    v128_t t[4], square[4], p[4];
    EACH x[i] = abreast(wasm_f32x4_pmax(x[i], c->least), n);
    EACH t[i] = abreast(add(x[i], c->rounder), n);
    EACH p[i] = abreast(sub(t[i], c->rounder), n);
    EACH x[i] = abreast(sub(x[i], p[i]), n);
    EACH square[i] = abreast(mul(x[i], x[i]), n);
    EACH p[i] = abreast(add(mul(c->terms[3], x[i]), c->terms[2]), n);
    EACH p[i] = abreast(add(mul(c->terms[4], square[i]), p[i]), n);
    EACH square[i] = abreast(mul(p[i], square[i]), n);
    EACH p[i] = abreast(add(square[i], add(mul(c->terms[1], x[i]), c->terms[0])), n);
    EACH p[i] = abreast(add(mul(p[i], x[i]), c->one), n);
    EACH x[i] = abreast(wasm_i32x4_add(p[i], wasm_i32x4_shl(t[i], 23)), n);
}
#undef EACH
#endif
