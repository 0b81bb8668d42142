/* gate_rows: y[m] *= sigmoid(x[m]). In: f32 rows, one number for each `width` columns. Out: f32 rows, in place.   exact
 *
 *   y[i] = y[i] * (1 / (1 + e^-x[i / width]))
 *
 *   tile  one row, up to COLUMN_CHUNK columns */
#include "core/kernel.h"
#include "simd/simd.h"

/* The columns that pad the last group use the last gate. width is a multiple of 4, or n. */
static uint32_t place_of(const struct op_gate_rows *op, uint32_t i) {
    return min_u32(i, op->n - 1) / op->width;
}

static float gate_of(const struct op_gate_rows *op, uint32_t m, uint32_t place) {
    return 1.0f / (1.0f + exp__ref(-AT(const float *, op->x + m * op->x_stride)[place]));
}

/* definition: OP_GATE_ROWS */
void gate_rows__ref(const struct op_gate_rows *op, uint32_t m) {
    float *y = AT(float *, op->y + m * op->y_stride);
    for (uint32_t i = 0; i < round_up(op->n, GROUP); i++) y[i] = y[i] * gate_of(op, m, place_of(op, i));
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    return row_count(o, step) * column_chunks(((const struct op_gate_rows *)o)->n);
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    (void)step;
    const struct op_gate_rows *op = (const struct op_gate_rows *)o;
    const uint32_t chunks = column_chunks(op->n), m = t / chunks, from = t % chunks * COLUMN_CHUNK;
    const uint32_t end = min_u32(from + COLUMN_CHUNK, round_up(op->n, GROUP)), last = place_of(op, op->n);
    float *y = AT(float *, op->y + m * op->y_stride);
    for (uint32_t i = from; i < end;) {
        const uint32_t place = place_of(op, i), to = place == last ? end : min_u32(end, (place + 1) * op->width);
        const v128_t gate = splat(gate_of(op, m, place));
        for (; i < to; i += 4) store(y + i, mul(load(y + i), gate));
    }
}

/* kernel: OP_GATE_ROWS gate_rows plain */
const struct kernel gate_rows = {tiles, tile};
