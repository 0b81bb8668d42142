/* swiglu: y[m] = act(gate[m]) * up[m]. In: f32 rows. Out: f32 rows and/or a8 rows; swiglu.h has the formula.   exact
 *
 *   tile  one row, up to COLUMN_CHUNK columns */
#include "core/kernel.h"
#include "rows/quantize.h"
#include "rows/swiglu.h"

static struct xielu xielu_of(const struct op_swiglu *op) {
    return (struct xielu){op->above, op->below, op->slope, op->eps};
}

/* definition: OP_SWIGLU */
void swiglu__ref(const struct op_swiglu *op, uint32_t m) {
    const float *gate = AT(const float *, op->gate + m * op->gate_stride);
    const float *up = AT(const float *, op->up + m * op->up_stride);
    for (uint32_t g = 0; g * GROUP < op->n; g++) {
        float v[GROUP];
        for (int i = 0; i < GROUP; i++) {
            const float x = gate[g * GROUP + i];
            const float y = op->activation == ACT_XIELU ? xielu__ref(x, xielu_of(op)) : activated__ref(x, op->activation);
            v[i] = op->up ? y * up[g * GROUP + i] : y;
        }
        if (op->y) __builtin_memcpy(AT(float *, op->y + m * op->y_stride) + g * GROUP, v, sizeof v);
        if (op->q) quantize_into__ref(AT(int8_t *, op->q + m * op->q_stride), op->n, g, v);
    }
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    return row_count(o, step) * column_chunks(((const struct op_swiglu *)o)->n);
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    (void)step;
    const struct op_swiglu *op = (const struct op_swiglu *)o;
    const uint32_t chunks = column_chunks(op->n), m = t / chunks, from = t % chunks * COLUMN_CHUNK;
    const float *gate = AT(const float *, op->gate + m * op->gate_stride);
    const float *up = AT(const float *, op->up + m * op->up_stride);
    const struct exp_constants c = exp_constants();
    for (uint32_t i = from; i < min_u32(from + COLUMN_CHUNK, op->n); i += GROUP) {
        v128_t v[8];
        if (op->activation == ACT_XIELU) {
            const float *terms = table_of(curve_terms);
            ROLLED for (uint32_t j = 0; j < 8; j++) {
                v[j] = xielu(load(gate + i + 4 * j), xielu_of(op), terms, &c);
                if (op->up) v[j] = mul(v[j], load(up + i + 4 * j));
            }
        } else {
            gated_group(v, gate + i, op->up ? up + i : 0, &c, op->activation);
        }
        if (op->y) store_group(AT(float *, op->y + m * op->y_stride) + i, v);
        if (op->q) quantize_into(AT(int8_t *, op->q + m * op->q_stride), op->n, i / GROUP, v);
    }
}

/* kernel: OP_SWIGLU swiglu plain */
const struct kernel swiglu = {tiles, tile};
