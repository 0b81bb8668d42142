/* softplus.h: ln(1 + e^x), the step size of state space layers. In: f32. Out: f32, above 0.                    exact
 *
 *   softplus(x) = max(x, 0) + ln(1 + t), t = e^-|x|          ln(1 + t) = s p(s^2), s = t / (2 + t), at most 1/3
 *   relative error below 5e-7 for x from -87 up (a test measures it); for smaller x the result is e^-87. NaN stays NaN.
 *   p: least error for 2 atanh(s) / s, degree 4. p(0) = 2 keeps the relative error of a small step */
#ifndef HALFBYTE_SOFTPLUS_H
#define HALFBYTE_SOFTPLUS_H
#include "simd/simd.h"

static const float softplus_terms[5] = {0x1p+1f, 0x1.55554cp-1f, 0x1.99adb6p-2f, 0x1.211d9ep-2f, 0x1.131facp-2f};

INLINE float softplus__ref(float x) {
    const float t = exp__ref(-__builtin_fabsf(x)), s = t / (2.0f + t), w = s * s;
    float p = softplus_terms[4];
    for (int i = 3; i >= 0; i--) p = p * w + softplus_terms[i];
    return (x < 0 ? 0 : x) + p * s;
}
INLINE v128_t softplus(v128_t x, const struct exp_constants *c) {
    const v128_t t = exp4(wasm_f32x4_neg(wasm_f32x4_abs(x)), c);
    const v128_t s = wasm_f32x4_div(t, add(splat(2), t)), w = mul(s, s);
    v128_t p = splat(softplus_terms[4]);
    UNROLLED for (int i = 3; i >= 0; i--) p = add(mul(p, w), splat(softplus_terms[i]));
    return add(wasm_f32x4_pmax(x, splat(0)), mul(p, s));
}
#endif
