/* swiglu.h: the gate of a feed-forward block. In: vectors of gate and up. Out: silu(gate) * up.                        exact
 *
 *   y = (gate / (1 + e^-gate)) * up, with the e^x of simd.h: within 4e-7 of the true value, relatively */
#ifndef HALFBYTE_SWIGLU_H
#define HALFBYTE_SWIGLU_H
#include "simd.h"

INLINE float silu__ref(float x) { return x / (1.0f + exp__ref(-x)); }
INLINE v128_t silu(v128_t x, const struct exp_constants *c) {
    /* The last coefficient of the exponential is 1. */
    return wasm_f32x4_div(x, add(c->p[6], exp4(wasm_f32x4_neg(x), c)));
}
INLINE float gated__ref(float gate, float up) { return silu__ref(gate) * up; }
INLINE v128_t gated(v128_t gate, v128_t up, const struct exp_constants *c) { return mul(silu(gate, c), up); }

/* One group of 32. */
INLINE void gated_group(v128_t *v, const float *gate, const float *up, const struct exp_constants *c) {
    ROLLED for (uint32_t j = 0; j < 8; j++) v[j] = gated(load(gate + 4 * j), load(up + 4 * j), c);
}
#endif
