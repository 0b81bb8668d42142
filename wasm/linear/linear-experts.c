/* linear_experts: the places of each expert times that expert's weights. In: rows by place, a route (route.h). Out: f32
 * rows.                                                                                                        exact
 *   rows [starts[e], starts[e + 1]) are one linear with the matrix at w + e * expert_bytes. The weights of an expert
 *   without rows are not read.
 *
 *   tile  a part of one expert with rows, one expert after the other. Every expert has the same number of parts, so a
 *         tile is found without a search. A part is one tile of the encoding's kernel, or more or none if the expert
 *         has many rows */
/* forms: quads, pairs, wide, products */
#include "linear/linear.h"
#include "linear/route.h"

extern const struct kernel linear_f32, linear_f16, linear_bf16, DOTS(linear_w8a8_g32), DOTS(linear_w4a8_g32),
    DOTS(linear_w4ma8_g32), DOTS_16(linear_w4a8_channel), DOTS_16(linear_w2a8_g256);

/* By enum encoding. */
static const struct kernel *const kernels[] = {
    &linear_f32, &linear_f16, &linear_bf16, &DOTS(linear_w8a8_g32), &DOTS(linear_w4a8_g32), &DOTS(linear_w4ma8_g32),
    [ENC_W4_CHANNEL] = &DOTS_16(linear_w4a8_channel),
    [ENC_W2_G256] = &DOTS_16(linear_w2a8_g256),
};

/* One expert's linear, as a separate op and step. */
struct expert { struct op_linear op; struct step step; };
static struct expert expert_of(const struct op_linear_experts *op, const uint32_t *starts, uint32_t e) {
    const uint32_t first = starts[e];
    return (struct expert){
        {.rows = ROWS_TOKENS, .w = op->w + e * op->expert_bytes, .n = op->n, .k = op->k, .x = op->x + first * op->x_stride,
         .x_stride = op->x_stride, .y = op->y + first * op->y_stride, .y_stride = op->y_stride},
        {.tokens = starts[e + 1] - first},
    };
}

/* Tiles of each expert. Its rows differ from step to step, so its kernel may have more or fewer. */
INLINE uint32_t tiles_of_expert(const struct op_linear_experts *op) {
    return round_up(op->n, STREAMS * PANEL) / (STREAMS * PANEL);
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    const struct op_linear_experts *op = (const struct op_linear_experts *)o;
    return route_parts(op->route, op->experts, row_count(o, step)).active[0] * tiles_of_expert(op);
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    const struct op_linear_experts *op = (const struct op_linear_experts *)o;
    const struct kernel *kernel = kernels[op->encoding];
    const struct route_parts route = route_parts(op->route, op->experts, row_count(o, step));
    const uint32_t each = tiles_of_expert(op), part = t % each;
    const struct expert expert = expert_of(op, route.starts, route.active[1 + t / each]);
    const uint32_t count = kernel->tiles((const struct op *)&expert.op, &expert.step);
    for (uint32_t i = count * part / each; i < count * (part + 1) / each; i++) {
        kernel->tile((const struct op *)&expert.op, &expert.step, i);
    }
}

/* kernel: OP_LINEAR_EXPERTS linear_experts dense */
const struct kernel DOTS(linear_experts) = {tiles, tile};
