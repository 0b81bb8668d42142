/* swiglu.h: the gate of a feed-forward block. In: vectors of gate and up. Out: act(gate) * up.                 exact
 *
 *   y = (gate / (1 + e^-t)) * up      silu: t = gate    gelu: t = gate * (G1 + G2 * gate^2), the approximation by tanh
 *                                     gelu_quick: t = gate * QUICK
 *   y = gate * up                     none
 *   y = (1 / (1 + e^-gate)) * up      sigmoid
 *   y = max(gate, 0) * up             relu    relu2: the square of max(gate, 0), times up
 *   y = xielu(gate) * up              xielu: above x^2 + slope x for x above 0; else below (e^m - 1 - x) + slope x,
 *                                     where m is the lesser of x and eps
 *   y = gate * normal(gate) * up      gelu_exact: normal is the cumulative distribution function of the standard normal
 *                                     distribution, (1 + erf(gate / sqrt 2)) / 2
 *
 *   normal(-a) = e^(-a^2 / 2) t p(t), t = 1 / (1 + 0.305 a), a >= 0: p of degree 7, least relative error for a up to
 *   14; normal(a) is 1 - normal(-a). Relative error of y below 7e-7 for gates from -5 up; for smaller gates, absolute
 *   error below 1e-12 (a test measures both).
 *
 *   e^m - 1 - m is m^2 p(m) from -1/2 on: Taylor's terms to m^9, relative error below 2^-27.
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

INLINE int is_rectified(uint32_t activation) { return activation == ACT_RELU || activation == ACT_RELU2; }
INLINE float rectified__ref(float x, uint32_t activation) {
    const float above = x < 0 ? 0 : x;
    return activation == ACT_RELU2 ? above * above : above;
}
INLINE v128_t rectified(v128_t x, uint32_t activation) {
    const v128_t above = wasm_f32x4_pmax(x, splat(0));
    return activation == ACT_RELU2 ? mul(above, above) : above;
}

/* Hides from the compiler that a table is constant: V8 loads a term in one instruction, but builds a literal vector in
 * three. */
INLINE const float *table_of(const float *terms) {
    __asm__ volatile("" : "+r"(terms));
    return terms;
}

/* 1 / (i + 2)! */
static const float curve_terms[8] = {0.5f,           0.16666667163372f, 0.0416666679084301f, 0.00833333376795053f,
                                     0.0013888889225f, 0.000198412701138295f, 2.48015876422869e-05f, 2.75573188446287e-06f};
struct xielu { float above, below, slope, eps; };
INLINE float xielu__ref(float x, struct xielu of) {
    if (x > 0) return of.above * x * x + of.slope * x;
    const float m = x < of.eps ? x : of.eps;
    float p = curve_terms[7];
    for (int i = 6; i >= 0; i--) p = p * m + curve_terms[i];
    const float bend = m < -0.5f ? exp__ref(m) - 1.0f - m : m * m * p;
    return (bend + (m - x)) * of.below + of.slope * x;
}
INLINE v128_t xielu(v128_t x, struct xielu of, const float *terms, const struct exp_constants *c) {
    const v128_t line = mul(splat(of.slope), x), m = wasm_f32x4_pmin(splat(of.eps), x);
    v128_t p = load_splat(terms + 7);
    UNROLLED for (int i = 6; i >= 0; i--) p = add(mul(p, m), load_splat(terms + i));
    const v128_t far = sub(sub(exp4(m, c), c->p[6]), m), is_far = wasm_f32x4_lt(m, splat(-0.5f));
    const v128_t bend = wasm_v128_bitselect(far, mul(mul(m, m), p), is_far);
    const v128_t under = add(mul(add(bend, sub(m, x)), splat(of.below)), line);
    const v128_t over = add(mul(mul(splat(of.above), x), x), line);
    return wasm_v128_bitselect(over, under, wasm_f32x4_gt(x, splat(0)));
}

INLINE float activated__ref(float gate, uint32_t activation) {
    if (activation == ACT_NONE) return gate;
    if (activation == ACT_GELU_EXACT) return gelu_exact__ref(gate);
    if (activation == ACT_GELU_QUICK) return gate / (1.0f + exp__ref(gate * -QUICK));
    if (is_rectified(activation)) return rectified__ref(gate, activation);
    const float t = activation == ACT_GELU ? gate * (gate * gate * G2 + G1) : gate;
    return (activation == ACT_SIGMOID ? 1.0f : gate) / (1.0f + exp__ref(-t));
}
/* -t */
INLINE v128_t exponent_of(v128_t gate, uint32_t activation) {
    v128_t t = gate;
    if (activation == ACT_GELU) t = mul(gate, add(mul(mul(gate, gate), splat(G2)), splat(G1)));
    if (activation == ACT_GELU_QUICK) t = mul(gate, splat(QUICK));
    return wasm_f32x4_neg(t);
}
/* The last coefficient of the exponential is 1. */
INLINE v128_t gated_by(v128_t gate, v128_t exp, const struct exp_constants *c, uint32_t activation) {
    return wasm_f32x4_div(activation == ACT_SIGMOID ? c->p[6] : gate, add(c->p[6], exp));
}
/* The activations that do nothing or divide by 1 + e^-t. */
INLINE v128_t activated(v128_t gate, const struct exp_constants *c, uint32_t activation) {
    return activation == ACT_NONE ? gate : gated_by(gate, exp4(exponent_of(gate, activation), c), c, activation);
}
INLINE float silu__ref(float x) { return activated__ref(x, ACT_SILU); }
INLINE v128_t silu(v128_t x, const struct exp_constants *c) { return activated(x, c, ACT_SILU); }

/* One group of 32. If up is 0, there is no second factor. */
INLINE void gated_group(v128_t *v, const float *gate, const float *up, const struct exp_constants *c, uint32_t activation) {
    enum { AT_ONCE = 4 };
    if (activation == ACT_GELU_EXACT || is_rectified(activation)) {
        ROLLED for (uint32_t j = 0; j < 8; j++) {
            const v128_t x = load(gate + 4 * j);
            const v128_t active = activation == ACT_GELU_EXACT ? gelu_exact(x, c) : rectified(x, activation);
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
            if (activation != ACT_NONE) v[j + i] = gated_by(v[j + i], e[i], c, activation);
            if (up) v[j + i] = mul(v[j + i], load(up + 4 * (j + i)));
        }
    }
}
#endif
