/* squares.h: the sum of the squares of a row, shared by the kernels of root mean square norms.                 exact
 *
 *   sums  16 partial sums, number i % 16 for value i, i ascending; then ((v0 + v1) + (v2 + v3)) over the vectors
 *         v = [4 partial sums], then sum4 over lanes
 *   n     a multiple of 32: lanes past a row's values are zero */
#ifndef HALFBYTE_SQUARES_H
#define HALFBYTE_SQUARES_H
#include "simd/simd.h"

INLINE float sum_of_squares__ref(const float *x, uint32_t n) {
    float part[16] = {0}, lanes[4];
    for (uint32_t i = 0; i < n; i++) part[i % 16] += x[i] * x[i];
    for (int l = 0; l < 4; l++) lanes[l] = (part[l] + part[4 + l]) + (part[8 + l] + part[12 + l]);
    return sum4__ref(lanes);
}

INLINE float sum_of_squares(const float *x, uint32_t n) {
    v128_t part[4];
    UNROLLED for (int i = 0; i < 4; i++) part[i] = splat(0);
    for (uint32_t i = 0; i < n; i += 16) {
        UNROLLED for (int j = 0; j < 4; j++) {
            const v128_t v = load(x + i + 4 * j);
            part[j] = add(part[j], mul(v, v));
        }
    }
    return sum4(add(add(part[0], part[1]), add(part[2], part[3])));
}
#endif
