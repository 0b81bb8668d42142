/* renorm: a root mean square norm of rows that are split among shards. In: f32 rows. Out: f32 rows, in place.  exact
 *
 *   norm     sqrt(squares / size + eps)
 *   x        f32 rows of `size` values. A shard has divided its part by their norm before it computed the product y:
 *            squares = those of x (squares.h);  y[m] *= norm;  squares are stored after y[m], at round_up(n, 32)
 *   x is 0   squares are read from there: the sum of those of all shards, of `size` values;  y[m] *= 1 / norm
 *
 *   tile     one row */
#include "core/kernel.h"
#include "simd/squares.h"

/* definition: OP_RENORM */
void renorm__ref(const struct op_renorm *op, uint32_t m) {
    float *y = AT(float *, op->y + m * op->y_stride), *squares = y + round_up(op->n, GROUP);
    const float *x = AT(const float *, op->x + m * op->x_stride);
    if (op->x) *squares = sum_of_squares__ref(x, round_up(op->size, GROUP));
    const float norm = __builtin_sqrtf(*squares / (float)op->size + op->eps), factor = op->x ? norm : 1.0f / norm;
    for (uint32_t i = 0; i < round_up(op->n, GROUP); i++) y[i] = y[i] * factor;
}

static uint32_t tiles(const struct op *o, const struct step *step) { return row_count(o, step); }

static void tile(const struct op *o, const struct step *step, uint32_t m) {
    (void)step;
    const struct op_renorm *op = (const struct op_renorm *)o;
    float *y = AT(float *, op->y + m * op->y_stride), *squares = y + round_up(op->n, GROUP);
    const float *x = AT(const float *, op->x + m * op->x_stride);
    if (op->x) *squares = sum_of_squares(x, round_up(op->size, GROUP));
    const float norm = __builtin_sqrtf(*squares / (float)op->size + op->eps);
    const v128_t factor = splat(op->x ? norm : 1.0f / norm);
    for (uint32_t i = 0; i < round_up(op->n, GROUP); i += 4) store(y + i, mul(load(y + i), factor));
}

/* kernel: OP_RENORM renorm plain */
const struct kernel renorm = {tiles, tile};
