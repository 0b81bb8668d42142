/* add: y[m] += scale * x[m]. In: f32 rows. Out: f32 rows, in place.                                            exact
 *
 *   tile  one row, up to COLUMN_CHUNK columns */
#include "core/kernel.h"
#include "simd/simd.h"

/* definition: OP_ADD */
void add__ref(const struct op_add *op, uint32_t m) {
    const float *x = AT(const float *, op->x + m * op->x_stride);
    float *y = AT(float *, op->y + m * op->y_stride);
    for (uint32_t i = 0; i < round_up(op->n, GROUP); i++) y[i] = y[i] + op->scale * x[i];
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    return row_count(o, step) * column_chunks(((const struct op_add *)o)->n);
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    (void)step;
    const struct op_add *op = (const struct op_add *)o;
    const uint32_t chunks = column_chunks(op->n), m = t / chunks, from = t % chunks * COLUMN_CHUNK;
    const float *x = AT(const float *, op->x + m * op->x_stride);
    float *y = AT(float *, op->y + m * op->y_stride);
    const v128_t scale = splat(op->scale);
    for (uint32_t i = from; i < min_u32(from + COLUMN_CHUNK, round_up(op->n, GROUP)); i += 4) {
        store(y + i, add(load(y + i), mul(scale, load(x + i))));
    }
}

/* kernel: OP_ADD add_rows plain */
const struct kernel add_rows = {tiles, tile};
