/* quantize: q[m] = the a8 row of x[m], optionally reordered. In: f32 rows. Out: a8 rows (quantize.h).             exact
 *
 *   tile  one row, up to COLUMN_CHUNK columns. With `whole`: one whole row, read twice */
#include "core/kernel.h"
#include "rows/quantize.h"

/* definition: OP_QUANTIZE */
void quantize__ref(const struct op_quantize *op, uint32_t m) {
    const float *x = AT(const float *, op->x + m * op->x_stride);
    const float largest = largest__ref(x, round_up(op->n, GROUP), 0);
    for (uint32_t g = 0; g * GROUP < op->n; g++) {
        float moved[GROUP];
        for (uint32_t i = 0; i < GROUP && op->order != 0; i++) {
            moved[i] = x[(uint32_t)AT(const float *, op->order)[g * GROUP + i]];
        }
        const float *group = op->order != 0 ? moved : x + g * GROUP;
        int8_t *q = AT(int8_t *, op->q + m * op->q_stride);
        if (op->whole) quantize_with__ref(q, op->n, g, group, largest);
        else quantize_into__ref(q, op->n, g, group);
    }
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    const struct op_quantize *op = (const struct op_quantize *)o;
    return row_count(o, step) * (op->whole ? 1 : column_chunks(op->n));
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    (void)step;
    const struct op_quantize *op = (const struct op_quantize *)o;
    const uint32_t chunks = op->whole ? 1 : column_chunks(op->n), m = t / chunks, from = t % chunks * COLUMN_CHUNK;
    const float *x = AT(const float *, op->x + m * op->x_stride);
    int8_t *q = AT(int8_t *, op->q + m * op->q_stride);
    const float *order = AT(const float *, op->order);
    const uint32_t end = op->whole ? op->n : min_u32(from + COLUMN_CHUNK, op->n);
    v128_t most = splat(0);
    for (uint32_t i = 0; i < op->n && op->whole; i += GROUP) {
        v128_t v[8];
        load_group(v, x + i);
        most = wasm_i32x4_max(most, most_of(v));
    }
    const float largest = largest_lane(most);
    float moved[GROUP];
    for (uint32_t i = from; i < end; i += GROUP) {
        v128_t v[8];
        if (op->order != 0) {
            for (uint32_t j = 0; j < GROUP; j++) moved[j] = x[(uint32_t)order[i + j]];
        }
        load_group(v, op->order != 0 ? moved : x + i);
        quantize_with(q, op->n, i / GROUP, v, op->whole ? largest : largest_lane(most_of(v)));
    }
}

/* kernel: OP_QUANTIZE quantize plain */
const struct kernel quantize = {tiles, tile};
