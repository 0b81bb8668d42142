/* rmsnorm: y[m] = x[m] * weight / sqrt(mean(x[m]^2) + eps). In: f32 rows. Out: f32 rows and/or a8 rows.        exact
 *
 *   x, y    f32 rows; with ROWS_LOGITS, row r of the output comes from row logit_rows[r] of x
 *   weight  f32 row: lanes past n are zero
 *   r       1 / sqrt(sum / n + eps), with the sum of squares that squares.h defines;  y = (x * r) * weight
 *
 *   parts   each has its own sum, of n / parts values: the norm of state space layers with several groups
 *
 *   tile    one row */
#include "core/kernel.h"
#include "rows/quantize.h"
#include "simd/squares.h"

static const float *input_row(const struct op_rmsnorm *op, const struct step *step, uint32_t m) {
    const uint32_t row = op->rows == ROWS_LOGITS ? AT(const uint32_t *, step->logit_rows)[m] : m;
    return AT(const float *, op->x + row * op->x_stride);
}

/* definition: OP_RMSNORM */
void rmsnorm__ref(const struct op_rmsnorm *op, const struct step *step, uint32_t m) {
    const float *x = input_row(op, step, m), *weight = AT(const float *, op->weight);
    const uint32_t n = op->parts > 1 ? op->n / op->parts : op->n, n32 = round_up(n, GROUP);
    for (uint32_t first = 0; first < op->n; first += n32) {
        const float r = 1.0f / __builtin_sqrtf(sum_of_squares__ref(x + first, n32) / (float)n + op->eps);
        for (uint32_t g = first / GROUP; g < (first + n32) / GROUP; g++) {
            float v[GROUP];
            for (int i = 0; i < GROUP; i++) v[i] = (x[g * GROUP + i] * r) * weight[g * GROUP + i];
            if (op->y) __builtin_memcpy(AT(float *, op->y + m * op->y_stride) + g * GROUP, v, sizeof v);
            if (op->q) quantize_into__ref(AT(int8_t *, op->q + m * op->q_stride), op->n, g, v);
        }
    }
}

static uint32_t tiles(const struct op *o, const struct step *step) { return row_count(o, step); }

/* Values first .. first + n32 of a row; the mean is over n. */
INLINE void normalize(const struct op_rmsnorm *op, const float *x, uint32_t m, uint32_t first, uint32_t n) {
    const float *weight = AT(const float *, op->weight);
    const uint32_t end = first + round_up(n, GROUP);
    const float sum = sum_of_squares(x + first, end - first);
    const v128_t r = splat(1.0f / __builtin_sqrtf(sum / (float)n + op->eps));
    for (uint32_t i = first; i < end; i += GROUP) {
        v128_t v[8];
        UNROLLED for (int j = 0; j < 8; j++) v[j] = mul(mul(load(x + i + 4 * j), r), load(weight + i + 4 * j));
        if (op->y) store_group(AT(float *, op->y + m * op->y_stride) + i, v);
        if (op->q) quantize_into(AT(int8_t *, op->q + m * op->q_stride), op->n, i / GROUP, v);
    }
}

static void tile(const struct op *o, const struct step *step, uint32_t m) {
    const struct op_rmsnorm *op = (const struct op_rmsnorm *)o;
    const uint32_t parts = max_u32(op->parts, 1), n = op->n / parts;
    for (uint32_t p = 0; p < parts; p++) normalize(op, input_row(op, step, m), m, p * n, n);
}

/* kernel: OP_RMSNORM rmsnorm plain */
const struct kernel rmsnorm = {tiles, tile};
