/* rotate.h: RoPE of one head. In: f32 [head_dim], f32 [rope_dims/2][cosine c, sine s]. Out: f32 [head_dim].    exact
 *
 *   pair i: (a, b) = (i, i + rope_dims/2) halves, (2i, 2i + 1) interleaved; dims past rope_dims stay
 *     a' = a * c + b * -s        b' = b * c + a * s
 *
 * rope_dims is even, head_dim a multiple of 4; y may be x. */
#ifndef HALFBYTE_ROTATE_H
#define HALFBYTE_ROTATE_H
#include "simd/simd.h"

enum { MAX_HEAD_DIM = 512 };

struct rotation { uint32_t dim, rope_dims, pairing; };

static inline void rotate__ref(float *y, const float *x, const float *angles, struct rotation of) {
    const uint32_t half = of.rope_dims / 2;
    for (uint32_t i = 0; i < half; i++) {
        const uint32_t ia = of.pairing == PAIR_HALVES ? i : 2 * i, ib = of.pairing == PAIR_HALVES ? i + half : 2 * i + 1;
        const float a = x[ia], b = x[ib], c = angles[2 * i], s = angles[2 * i + 1];
        y[ia] = a * c + b * -s;
        y[ib] = b * c + a * s;
    }
    for (uint32_t d = of.rope_dims; d < of.dim; d++) y[d] = x[d];
}

/* Halves: four pairs at a time; interleaved: two. The remaining pairs as in the definition. */
static inline void rotate(float *y, const float *x, const float *angles, struct rotation of) {
    const uint32_t half = of.rope_dims / 2;
    if (of.rope_dims % 4 || (of.pairing == PAIR_HALVES && half % 4)) return rotate__ref(y, x, angles, of);
    if (of.pairing == PAIR_HALVES) {
        for (uint32_t i = 0; i < half; i += 4) {
            const v128_t low = load(angles + 2 * i), high = load(angles + 2 * i + 4);
            const v128_t c = wasm_i32x4_shuffle(low, high, 0, 2, 4, 6), s = wasm_i32x4_shuffle(low, high, 1, 3, 5, 7);
            const v128_t a = load(x + i), b = load(x + half + i);
            store(y + i, add(mul(a, c), mul(b, wasm_f32x4_neg(s))));
            store(y + half + i, add(mul(b, c), mul(a, s)));
        }
    } else {
        const v128_t sign = wasm_u32x4_make(0x80000000, 0, 0x80000000, 0);
        for (uint32_t d = 0; d < of.rope_dims; d += 4) {
            const v128_t angle = load(angles + d), v = load(x + d);
            const v128_t c = wasm_i32x4_shuffle(angle, angle, 0, 0, 2, 2);
            const v128_t s = wasm_v128_xor(wasm_i32x4_shuffle(angle, angle, 1, 1, 3, 3), sign);
            store(y + d, add(mul(v, c), mul(wasm_i32x4_shuffle(v, v, 1, 0, 3, 2), s)));
        }
    }
    for (uint32_t d = of.rope_dims; d < of.dim; d += 4) store(y + d, load(x + d));
}

/* x += sign * bias in the pairs from `still` on and in the dims that are not rotated. sign: 1 or -1. */
static inline void add_still(float *x, const float *bias, float sign, uint32_t still, struct rotation of) {
    const uint32_t half = of.rope_dims / 2;
    for (uint32_t i = still; i < half; i++) {
        const uint32_t ia = of.pairing == PAIR_HALVES ? i : 2 * i, ib = of.pairing == PAIR_HALVES ? i + half : 2 * i + 1;
        x[ia] += sign * bias[ia];
        x[ib] += sign * bias[ib];
    }
    for (uint32_t d = of.rope_dims; d < of.dim; d++) x[d] += sign * bias[d];
}
#endif
