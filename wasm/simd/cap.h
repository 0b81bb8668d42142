/* cap.h: soft caps of scores and logits. In: x, cap > 0. Out: cap * tanh(x / cap).                             exact
 *
 *   y = cap - 2 cap / (1 + e^(x * (2 / cap)))        within 2e-7 * cap of the true value */
#ifndef HALFBYTE_CAP_H
#define HALFBYTE_CAP_H
#include "simd/simd.h"

INLINE float capped__ref(float x, float cap) { return cap - 2.0f * cap / (exp__ref(x * (2.0f / cap)) + 1.0f); }
INLINE v128_t capped(v128_t x, float cap, const struct exp_constants *c) {
    const v128_t e = add(exp4(mul(x, splat(2.0f / cap)), c), c->p[6]);
    return sub(splat(cap), wasm_f32x4_div(splat(2.0f * cap), e));
}
#endif
