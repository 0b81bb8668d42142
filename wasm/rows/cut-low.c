/* cut_low: keeps values far above the mean of their row. In: f32 rows. Out: f32 rows, which may be x.          exact
 *
 *   sums  of x, then of d * d, d = x - mean: 4 partial sums, number i % 4 for value i < n, i ascending, then sum4
 *   y     max(0, x - (mean + sqrt(sum of d * d / n) * scale)) for i < n. Columns from n on: zeros
 *
 *   tile  one row */
#include "core/kernel.h"
#include "simd/simd.h"

static float cutoff_of(float mean, float squares, const struct op_cut_low *op) {
    return mean + __builtin_sqrtf(squares / (float)op->n) * op->scale;
}

/* definition: OP_CUT_LOW */
void cut_low__ref(const struct op_cut_low *op, uint32_t m) {
    const float *x = AT(const float *, op->x + m * op->x_stride);
    float *y = AT(float *, op->y + m * op->y_stride), sums[4] = {0}, squares[4] = {0};
    for (uint32_t i = 0; i < op->n; i++) sums[i % 4] += x[i];
    const float mean = sum4__ref(sums) / (float)op->n;
    for (uint32_t i = 0; i < op->n; i++) squares[i % 4] += (x[i] - mean) * (x[i] - mean);
    const float cutoff = cutoff_of(mean, sum4__ref(squares), op);
    for (uint32_t i = 0; i < round_up(op->n, GROUP); i++) y[i] = i < op->n && x[i] > cutoff ? x[i] - cutoff : 0;
}

static uint32_t tiles(const struct op *o, const struct step *step) { return row_count(o, step); }

/* The four values from i on, and whether each is one of the row's n. */
INLINE v128_t seen(const struct op_cut_low *op, uint32_t i) {
    const v128_t lanes = wasm_i32x4_add(wasm_i32x4_splat((int32_t)i), wasm_i32x4_make(0, 1, 2, 3));
    return wasm_i32x4_lt(lanes, wasm_i32x4_splat((int32_t)op->n));
}

static void tile(const struct op *o, const struct step *step, uint32_t m) {
    (void)step;
    const struct op_cut_low *op = (const struct op_cut_low *)o;
    const float *x = AT(const float *, op->x + m * op->x_stride);
    float *y = AT(float *, op->y + m * op->y_stride);
    v128_t sums = splat(0), squares = splat(0);
    for (uint32_t i = 0; i < op->n; i += 4) sums = add(sums, wasm_v128_and(load(x + i), seen(op, i)));
    const v128_t mean = splat(sum4(sums) / (float)op->n);
    for (uint32_t i = 0; i < op->n; i += 4) {
        const v128_t d = wasm_v128_and(sub(load(x + i), mean), seen(op, i));
        squares = add(squares, mul(d, d));
    }
    const v128_t cutoff = splat(cutoff_of(wasm_f32x4_extract_lane(mean, 0), sum4(squares), op));
    for (uint32_t i = 0; i < round_up(op->n, GROUP); i += 4) {
        const v128_t v = load(x + i);
        store(y + i, wasm_v128_and(sub(v, cutoff), wasm_v128_and(wasm_f32x4_gt(v, cutoff), seen(op, i))));
    }
}

/* kernel: OP_CUT_LOW cut_low plain */
const struct kernel cut_low = {tiles, tile};
