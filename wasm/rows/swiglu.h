/* swiglu.h: the gate of a feed-forward block. In: vectors of gate and up. Out: act(gate) * up.                 exact
 *
 *   y = (gate / (1 + e^-t)) * up      silu: t = gate    gelu: t = gate * (G1 + G2 * gate^2), the approximation by tanh
 *                                     gelu_quick: t = gate * QUICK
 *   y = gate * up                     none
 *   y = gate * normal(gate) * up      gelu_exact: normal is the cumulative distribution function of the standard normal
 *                                     distribution, (1 + erf(gate / sqrt 2)) / 2
 *
 *   normal(-a) = e^(-a^2 / 2) t p(t), t = 1 / (1 + 0.305 a), a >= 0: p of degree 7, least relative error for a up to
 *   14; normal(a) is 1 - normal(-a). Relative error of y below 7e-7 for gates from -5 up; for smaller gates, absolute
 *   error below 1e-12 (a test measures both).
 *
 *   e^x is that of simd.h: the relative error of the sigmoid is below 4e-7. Without up, y is the gate alone. */
#ifndef HALFBYTE_SWIGLU_H
#define HALFBYTE_SWIGLU_H
#include "simd/simd.h"

/* x / 2 * (1 + tanh(u)) = x / (1 + e^-2u), u = sqrt(2 / pi) * (x + 0.044715 x^3) */
#define G1 1.5957691216057308f
#define G2 0.0713548162726f
#define QUICK 1.702f

#define NORMAL_SLOPE 0x1.3851ecp-2f
static const float normal_terms[8] = {0x1.f23c82p-4f,  0x1.f59faep-4f, 0x1.a79d2ep-4f,  0x1.efb296p-4f,
                                      -0x1.3713fap-5f, 0x1.7c571ep-3f, -0x1.3950b6p-3f, 0x1.2ca29p-5f};

INLINE float gelu_exact__ref(float x) {
    const float t = 1.0f / (1.0f + NORMAL_SLOPE * __builtin_fabsf(x));
    float p = normal_terms[7];
    for (int i = 6; i >= 0; i--) p = p * t + normal_terms[i];
    const float below = p * t * exp__ref(x * x * -0.5f);
    return x * (x < 0 ? below : 1.0f - below);
}
INLINE v128_t gelu_exact(v128_t x, const struct exp_constants *c) {
    const v128_t one = c->p[6], t = wasm_f32x4_div(one, add(one, mul(splat(NORMAL_SLOPE), wasm_f32x4_abs(x))));
    v128_t p = splat(normal_terms[7]);
    UNROLLED for (int i = 6; i >= 0; i--) p = add(mul(p, t), splat(normal_terms[i]));
    const v128_t below = mul(mul(p, t), exp4(mul(mul(x, x), splat(-0.5f)), c));
    return mul(x, wasm_v128_bitselect(below, sub(one, below), wasm_f32x4_lt(x, splat(0))));
}

INLINE float activated__ref(float gate, uint32_t activation) {
    if (activation == ACT_NONE) return gate;
    if (activation == ACT_GELU_EXACT) return gelu_exact__ref(gate);
    const float t = activation == ACT_GELU ? gate * (gate * gate * G2 + G1) : activation == ACT_GELU_QUICK ? gate * QUICK : gate;
    return gate / (1.0f + exp__ref(-t));
}
/* -t */
INLINE v128_t exponent_of(v128_t gate, uint32_t activation) {
    v128_t t = gate;
    if (activation == ACT_GELU) t = mul(gate, add(mul(mul(gate, gate), splat(G2)), splat(G1)));
    if (activation == ACT_GELU_QUICK) t = mul(gate, splat(QUICK));
    return wasm_f32x4_neg(t);
}
/* The last coefficient of the exponential is 1. */
INLINE v128_t gated_by(v128_t gate, v128_t exp, const struct exp_constants *c) {
    return wasm_f32x4_div(gate, add(c->p[6], exp));
}
/* Every activation except gelu_exact. */
INLINE v128_t activated(v128_t gate, const struct exp_constants *c, uint32_t activation) {
    return activation == ACT_NONE ? gate : gated_by(gate, exp4(exponent_of(gate, activation), c), c);
}
INLINE float silu__ref(float x) { return activated__ref(x, ACT_SILU); }
INLINE v128_t silu(v128_t x, const struct exp_constants *c) { return activated(x, c, ACT_SILU); }

/* One group of 32; up 0: none. */
INLINE void gated_group(v128_t *v, const float *gate, const float *up, const struct exp_constants *c, uint32_t activation) {
    enum { AT_ONCE = 4 };
    if (activation == ACT_GELU_EXACT) {
        ROLLED for (uint32_t j = 0; j < 8; j++) {
            const v128_t active = gelu_exact(load(gate + 4 * j), c);
            v[j] = up ? mul(active, load(up + 4 * j)) : active;
        }
        return;
    }
    ROLLED for (uint32_t j = 0; j < 8; j += AT_ONCE, gate += 4 * AT_ONCE) {
        v128_t e[AT_ONCE];
        UNROLLED for (uint32_t i = 0; i < AT_ONCE; i++) {
            v[j + i] = load(gate + 4 * i);
            e[i] = exponent_of(v[j + i], activation);
        }
        if (activation != ACT_NONE) exp_vectors(e, AT_ONCE, c);
        UNROLLED for (uint32_t i = 0; i < AT_ONCE; i++) {
            if (activation != ACT_NONE) v[j + i] = gated_by(v[j + i], e[i], c);
            if (up) v[j + i] = mul(v[j + i], load(up + 4 * (j + i)));
        }
    }
}
#endif
