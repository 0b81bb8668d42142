/* match_rms: y[m] = x[m], scaled to the root mean square of by[m]. In: f32 rows. Out: f32 rows.                exact
 *
 *   y   x * (sqrt(mean(by^2)) / sqrt(max(mean(x^2), least))), with the sums of squares that squares.h defines
 *
 *   tile  one row */
#include "core/kernel.h"
#include "simd/squares.h"

static float ratio_of(float by, float x, const struct op_match_rms *op) {
    const float mean = x / (float)op->n;
    return __builtin_sqrtf(by / (float)op->n) / __builtin_sqrtf(mean > op->least ? mean : op->least);
}

/* definition: OP_MATCH_RMS */
void match_rms__ref(const struct op_match_rms *op, uint32_t m) {
    const float *x = AT(const float *, op->x + m * op->x_stride), *by = AT(const float *, op->by + m * op->by_stride);
    float *y = AT(float *, op->y + m * op->y_stride);
    const uint32_t n = round_up(op->n, GROUP);
    const float ratio = ratio_of(sum_of_squares__ref(by, n), sum_of_squares__ref(x, n), op);
    for (uint32_t i = 0; i < n; i++) y[i] = x[i] * ratio;
}

static uint32_t tiles(const struct op *o, const struct step *step) { return row_count(o, step); }

static void tile(const struct op *o, const struct step *step, uint32_t m) {
    (void)step;
    const struct op_match_rms *op = (const struct op_match_rms *)o;
    const float *x = AT(const float *, op->x + m * op->x_stride), *by = AT(const float *, op->by + m * op->by_stride);
    float *y = AT(float *, op->y + m * op->y_stride);
    const uint32_t n = round_up(op->n, GROUP);
    const v128_t ratio = splat(ratio_of(sum_of_squares(by, n), sum_of_squares(x, n), op));
    for (uint32_t i = 0; i < n; i += 4) store(y + i, mul(load(x + i), ratio));
}

/* kernel: OP_MATCH_RMS match_rms plain */
const struct kernel match_rms = {tiles, tile};
