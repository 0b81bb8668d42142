/* weigh: y[m][i] = x[m][i] * weight[i]. In: f32 rows, an f32 row: lanes past n are zero. Out: f32 rows.        exact
 *
 *   tile  one row, up to COLUMN_CHUNK columns */
#include "core/kernel.h"
#include "simd/simd.h"

/* definition: OP_WEIGH */
void weigh__ref(const struct op_weigh *op, uint32_t m) {
    const float *x = AT(const float *, op->x + m * op->x_stride), *weight = AT(const float *, op->weight);
    float *y = AT(float *, op->y + m * op->y_stride);
    for (uint32_t i = 0; i < round_up(op->n, GROUP); i++) y[i] = x[i] * weight[i];
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    return row_count(o, step) * column_chunks(((const struct op_weigh *)o)->n);
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    (void)step;
    const struct op_weigh *op = (const struct op_weigh *)o;
    const uint32_t chunks = column_chunks(op->n), m = t / chunks, from = t % chunks * COLUMN_CHUNK;
    const float *x = AT(const float *, op->x + m * op->x_stride), *weight = AT(const float *, op->weight);
    float *y = AT(float *, op->y + m * op->y_stride);
    for (uint32_t i = from; i < min_u32(from + COLUMN_CHUNK, round_up(op->n, GROUP)); i += 4)
        store(y + i, mul(load(x + i), load(weight + i)));
}

/* kernel: OP_WEIGH weigh plain */
const struct kernel weigh = {tiles, tile};
