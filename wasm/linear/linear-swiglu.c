/* linear_swiglu: q[m] = act(gate) * up as an a8 row, where gate and up are products of the a8 row x[m].        exact
 *
 *   w     [gate: N32/8 panels | up: N32/8 panels]     N32: n padded to 32 by zero rows, whose gate and up are 0
 *   gate, up   the result of the linear with the same weights; then swiglu.h, then quantize.h
 *
 *   pair   groups of 32 outputs a and a + half, half = groups / 2, rounded up. gate and up of both are four streams far
 *          apart, read panel by panel as in linear.h. With an odd number of groups, the last pair is one group twice.
 *   tile   some adjacent pairs, up to TOKEN_CHUNK rows. The outputs of the panels stay on the stack until all are
 *          complete:
 *
 *   made   f32 [pair, row][gate of a | gate of b | up of a | up of b][32]
 *
 *   Gating after each pair would stop the streams for half a microsecond, as long as the gating itself takes. With few
 *   rows, a tile therefore has several pairs. */
/* forms: quads, pairs, wide, products */
#include "linear/linear.h"
#include "rows/quantize.h"
#include "rows/swiglu.h"

enum {
    LEAST_TILES = 16, /* enough to share the work among threads */
    GROUP_PANELS = GROUP / PANEL
};

/* How the work of an op is divided into tiles: `strips` of pairs, as equal as possible, by `chunks` of rows. */
struct pair_tiling { uint32_t groups, half, strips, chunks; };

INLINE struct pair_tiling pair_tiling_of(const struct op *o, const struct step *step) {
    const uint32_t groups = round_up(((const struct op_linear_swiglu *)o)->n, GROUP) / GROUP, half = (groups + 1) / 2;
    const uint32_t rows = row_count(o, step), fitting = TOKEN_CHUNK / min_u32(max_u32(rows, 1), TOKEN_CHUNK);
    const uint32_t pairs = min_u32((half + LEAST_TILES - 1) / LEAST_TILES, fitting);
    return (struct pair_tiling){groups, half, (half + pairs - 1) / pairs, (rows + TOKEN_CHUNK - 1) / TOKEN_CHUNK};
}

static uint32_t tiles(const struct op *op, const struct step *step) {
    const struct pair_tiling tiling = pair_tiling_of(op, step);
    return tiling.chunks * tiling.strips;
}

INLINE void tile(const struct op *o, const struct step *step, uint32_t t, linear_product *product) {
    const struct op_linear_swiglu *op = (const struct op_linear_swiglu *)o;
    const struct pair_tiling tiling = pair_tiling_of(o, step);
    const uint32_t m0 = t % tiling.chunks * TOKEN_CHUNK, rows = min_u32(TOKEN_CHUNK, row_count(o, step) - m0);
    const uint32_t strip = t / tiling.chunks;
    const uint32_t first = tiling.half * strip / tiling.strips, last = tiling.half * (strip + 1) / tiling.strips;

    /* Up to 18 KB, of a thread's stack of 64. */
    float made[TOKEN_CHUNK][STREAMS * GROUP] __attribute__((aligned(16)));
    for (uint32_t a = first; a < last; a++) {
        const struct op_linear linear = {
            .w = op->w, .bias = op->bias, .k = op->k, .x = op->x + m0 * op->x_stride, .x_stride = op->x_stride,
            .y = (uint32_t)(uintptr_t)made[(a - first) * rows], .y_stride = sizeof made[0],
        };
        const uint32_t near = a + tiling.half < tiling.groups ? tiling.half : 0;
        const uint32_t width = rows < MANY ? 1 : GROUP_PANELS;
        for (uint32_t i = 0; i < GROUP_PANELS; i += width) {
            const struct span span = {
                .w = {a * GROUP_PANELS + i, near * GROUP_PANELS, tiling.groups * GROUP_PANELS},
                .y = {i, GROUP_PANELS, 2 * GROUP_PANELS}, .width = width, .m0 = 0, .m1 = rows,
            };
            product(&linear, &span);
        }
    }
    const struct exp_constants c = exp_constants();
    for (uint32_t a = first; a < last; a++) {
        for (uint32_t m = 0; m < rows; m++) {
            const float *gate = made[(a - first) * rows + m];
            for (uint32_t g = a; g < tiling.groups; g += tiling.half, gate += GROUP) {
                v128_t v[8];
                gated_group(v, gate, gate + 2 * GROUP, &c, op->activation);
                quantize_into(AT(int8_t *, op->q + (m0 + m) * op->q_stride), op->n, g, v);
            }
        }
    }
}

static void tile_gated_w8(const struct op *op, const struct step *step, uint32_t t) {
    tile(op, step, t, DOTS(linear_w8a8_product));
}
static void tile_gated_w4(const struct op *op, const struct step *step, uint32_t t) {
    tile(op, step, t, DOTS(linear_w4a8_product));
}
static void tile_gated_w4m(const struct op *op, const struct step *step, uint32_t t) {
    tile(op, step, t, DOTS(linear_w4ma8_product));
}

/* kernel: OP_LINEAR_SWIGLU_W8A8_G32 linear_swiglu_w8a8_g32 dense */
const struct kernel DOTS(linear_swiglu_w8a8_g32) = {tiles, tile_gated_w8};
/* kernel: OP_LINEAR_SWIGLU_W4A8_G32 linear_swiglu_w4a8_g32 dense */
const struct kernel DOTS(linear_swiglu_w4a8_g32) = {tiles, tile_gated_w4};
/* kernel: OP_LINEAR_SWIGLU_W4MA8_G32 linear_swiglu_w4ma8_g32 dense */
const struct kernel DOTS(linear_swiglu_w4ma8_g32) = {tiles, tile_gated_w4m};
