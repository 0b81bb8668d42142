/* quantize.h: one activation group from f32 to int8, shared by every kernel that can end in an a8 row.         exact
 *
 *   x      f32 [32]                          largest  max |x|
 *   code   i8 [32], -127..127                code  = nearest(x * (127 / largest)), ties to even
 *   scale  f32                               scale = largest / 127
 *   sum    i32, of the codes                 largest below 2^-100: codes, scale and sum are 0
 *
 *   a8 row of n values, G = n32 / 32:  | i8 [n32] codes | f32 [G] scales | i32 [G] sums |
 *
 *   whole row   `largest` is that of the row: all groups have one scale, so i32 sums can continue from group to group
 *
 * A NaN or infinity in x shows up in the scale, so it is not lost. */
#ifndef HALFBYTE_QUANTIZE_H
#define HALFBYTE_QUANTIZE_H
#include "simd/simd.h"

#define LEAST_LARGEST 0x1p-100f

INLINE float largest__ref(const float *x, uint32_t n, float largest) {
    for (uint32_t i = 0; i < n; i++) largest = __builtin_fabsf(x[i]) > largest ? __builtin_fabsf(x[i]) : largest;
    return largest;
}
INLINE void quantize_by__ref(float largest, const float *x, int8_t *codes, float *scale, int32_t *sum) {
    const int zero = largest < LEAST_LARGEST;
    const float inverse = zero ? 0 : 127.0f / largest;
    *scale = zero ? 0 : largest / 127.0f;
    *sum = 0;
    for (int i = 0; i < GROUP; i++) {
        codes[i] = (int8_t)(bits_of(x[i] * inverse + ROUNDER) - bits_of(ROUNDER));
        *sum += codes[i];
    }
}

/* The largest magnitudes of the 8 vectors x. Without the sign bit, floats order like integers, and NaN is the
   largest. */
INLINE v128_t most_of(const v128_t *x) {
    const v128_t magnitude = wasm_u32x4_splat(0x7fffffff);
    v128_t most = wasm_v128_and(x[0], magnitude);
    UNROLLED for (int i = 1; i < 8; i++) most = wasm_i32x4_max(most, wasm_v128_and(x[i], magnitude));
    return most;
}
INLINE float largest_lane(v128_t most) {
    most = wasm_i32x4_max(most, wasm_i32x4_shuffle(most, most, 2, 3, 0, 1));
    most = wasm_i32x4_max(most, wasm_i32x4_shuffle(most, most, 1, 0, 3, 2));
    return wasm_f32x4_extract_lane(most, 0);
}

/* x: the 8 vectors of the group. */
INLINE void quantize_by(float largest, const v128_t *x, int8_t *codes, float *scale, int32_t *sum) {
    const int zero = largest < LEAST_LARGEST;
    const v128_t inverse = splat(zero ? 0 : 127.0f / largest);
    *scale = zero ? 0 : largest / 127.0f;

    const v128_t rounder = splat(ROUNDER);
    v128_t q[8];
    UNROLLED for (int i = 0; i < 8; i++) q[i] = wasm_i32x4_sub(add(mul(x[i], inverse), rounder), rounder);
    const v128_t low = wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(q[0], q[1]), wasm_i16x8_narrow_i32x4(q[2], q[3]));
    const v128_t high = wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(q[4], q[5]), wasm_i16x8_narrow_i32x4(q[6], q[7]));
    store(codes, low);
    store(codes + 16, high);
    const v128_t s = wasm_i16x8_add(wasm_i16x8_extadd_pairwise_i8x16(low), wasm_i16x8_extadd_pairwise_i8x16(high));
    *sum = (int32_t)sum_lanes(wasm_i32x4_extadd_pairwise_i16x8(s));
}

/* The scales and the sums of an a8 row. */
INLINE float *a8_scales(int8_t *row, uint32_t n) { return (float *)(row + round_up(n, GROUP)); }
INLINE int32_t *a8_sums(int8_t *row, uint32_t n) { return (int32_t *)(a8_scales(row, n) + round_up(n, GROUP) / GROUP); }

/* Group g of an a8 row of n values. `largest` is that of the row when the row is whole. */
INLINE void quantize_with(int8_t *row, uint32_t n, uint32_t g, const v128_t *x, float largest) {
    quantize_by(largest, x, row + g * GROUP, a8_scales(row, n) + g, a8_sums(row, n) + g);
}
INLINE void quantize_into(int8_t *row, uint32_t n, uint32_t g, const v128_t *x) {
    quantize_with(row, n, g, x, largest_lane(most_of(x)));
}
INLINE void quantize_with__ref(int8_t *row, uint32_t n, uint32_t g, const float *x, float largest) {
    quantize_by__ref(largest, x, row + g * GROUP, a8_scales(row, n) + g, a8_sums(row, n) + g);
}
INLINE void quantize_into__ref(int8_t *row, uint32_t n, uint32_t g, const float *x) {
    quantize_with__ref(row, n, g, x, largest__ref(x, GROUP, 0));
}

INLINE void load_group(v128_t *v, const float *x) { UNROLLED for (int i = 0; i < 8; i++) v[i] = load(x + 4 * i); }
INLINE void store_group(float *y, const v128_t *v) { UNROLLED for (int i = 0; i < 8; i++) store(y + 4 * i, v[i]); }
#endif
