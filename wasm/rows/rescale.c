/* rescale: y[m] *= scale, then a soft cap (cap.h). In: f32 rows. Out: f32 rows, in place.                      exact
 *
 *   tile  one row, up to COLUMN_CHUNK columns */
#include "simd/cap.h"
#include "core/kernel.h"

/* definition: OP_RESCALE */
void rescale__ref(const struct op_rescale *op, uint32_t m) {
    float *y = AT(float *, op->y + m * op->y_stride);
    for (uint32_t i = 0; i < round_up(op->n, GROUP); i++) {
        y[i] = y[i] * op->scale;
        if (op->cap > 0) y[i] = capped__ref(y[i], op->cap);
    }
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    return row_count(o, step) * column_chunks(((const struct op_rescale *)o)->n);
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    (void)step;
    const struct op_rescale *op = (const struct op_rescale *)o;
    const uint32_t chunks = column_chunks(op->n), m = t / chunks, from = t % chunks * COLUMN_CHUNK;
    float *y = AT(float *, op->y + m * op->y_stride);
    const struct exp_constants c = exp_constants();
    const v128_t scale = splat(op->scale);
    for (uint32_t i = from; i < min_u32(from + COLUMN_CHUNK, round_up(op->n, GROUP)); i += 4) {
        const v128_t v = mul(load(y + i), scale);
        store(y + i, op->cap > 0 ? capped(v, op->cap, &c) : v);
    }
}

/* kernel: OP_RESCALE rescale_rows plain */
const struct kernel rescale_rows = {tiles, tile};
