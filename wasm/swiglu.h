/* swiglu.h: the gate of a feed-forward block. In: vectors of gate and up. Out: act(gate) * up.                         exact
 *
 *   y = (gate / (1 + e^-t)) * up        silu: t = gate        gelu: t = gate * (G1 + G2 * gate^2), the approximation by tanh
 *   y = gate * up                       none
 *
 *   e^x is that of simd.h: the sigmoid is within 4e-7 of the true value, relatively. Without up y is the gate alone. */
#ifndef HALFBYTE_SWIGLU_H
#define HALFBYTE_SWIGLU_H
#include "simd.h"

/* x / 2 * (1 + tanh(u)) = x / (1 + e^-2u), u = sqrt(2 / pi) * (x + 0.044715 x^3) */
#define G1 1.5957691216057308f
#define G2 0.0713548162726f

INLINE float activated__ref(float gate, uint32_t activation) {
    if (activation == ACT_NONE) return gate;
    const float t = activation == ACT_GELU ? gate * (gate * gate * G2 + G1) : gate;
    return gate / (1.0f + exp__ref(-t));
}
INLINE v128_t activated(v128_t gate, const struct exp_constants *c, uint32_t activation) {
    if (activation == ACT_NONE) return gate;
    v128_t t = gate;
    if (activation == ACT_GELU) t = mul(gate, add(mul(mul(gate, gate), splat(G2)), splat(G1)));
    /* The last coefficient of the exponential is 1. */
    return wasm_f32x4_div(gate, add(c->p[6], exp4(wasm_f32x4_neg(t), c)));
}
INLINE float silu__ref(float x) { return activated__ref(x, ACT_SILU); }
INLINE v128_t silu(v128_t x, const struct exp_constants *c) { return activated(x, c, ACT_SILU); }

/* One group of 32; up 0: none. */
INLINE void gated_group(v128_t *v, const float *gate, const float *up, const struct exp_constants *c, uint32_t activation) {
    ROLLED for (uint32_t j = 0; j < 8; j++) {
        const v128_t y = activated(load(gate + 4 * j), c, activation);
        v[j] = up ? mul(y, load(up + 4 * j)) : y;
    }
}
#endif
