/* clamp: y[m] = x[m], limited to least..most (limit.h). In: f32 rows. Out: f32 rows, which may be x.           exact
 *
 *   Columns from n on: zeros in y, as in all rows. Where y is x they are unchanged, because a view may begin there.
 *
 *   tile  one row, up to COLUMN_CHUNK columns */
#include "core/kernel.h"
#include "simd/limit.h"

/* definition: OP_CLAMP */
void clamp__ref(const struct op_clamp *op, uint32_t m) {
    const float *x = AT(const float *, op->x + m * op->x_stride);
    float *y = AT(float *, op->y + m * op->y_stride);
    for (uint32_t i = 0; i < op->n; i++) y[i] = limited__ref(x[i], op->least, op->most);
    for (uint32_t i = op->n; y != x && i < round_up(op->n, GROUP); i++) y[i] = 0;
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    return row_count(o, step) * column_chunks(((const struct op_clamp *)o)->n);
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    (void)step;
    const struct op_clamp *op = (const struct op_clamp *)o;
    const uint32_t chunks = column_chunks(op->n), m = t / chunks, from = t % chunks * COLUMN_CHUNK;
    const float *x = AT(const float *, op->x + m * op->x_stride);
    float *y = AT(float *, op->y + m * op->y_stride);
    const uint32_t to = min_u32(from + COLUMN_CHUNK, op->n), whole = from + (to - from) / 4 * 4;
    const v128_t least = splat(op->least), most = splat(op->most);
    for (uint32_t i = from; i < whole; i += 4) store(y + i, limited(load(x + i), least, most));
    for (uint32_t i = whole; i < to; i++) y[i] = limited__ref(x[i], op->least, op->most);
    for (uint32_t i = to; to == op->n && y != x && i < round_up(op->n, GROUP); i++) y[i] = 0;
}

/* kernel: OP_CLAMP clamp_rows plain */
const struct kernel clamp_rows = {tiles, tile};
