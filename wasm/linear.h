/* linear.h: what the linear kernels share. In: an op_linear. Out: its tiles, and rows written with bias and residual.
 *
 *   A tile is STREAMS panels, `stride` panels apart, times up to TOKEN_CHUNK rows. Many cores read several streams far
 *   apart faster than one: with one stream too few cache misses are under way at once.
 *
 *   stride = panels / STREAMS:   tile t reads panels t, t + stride, t + 2 stride, t + 3 stride
 *
 *   memory  |t0 t1 t2 ..|t0 t1 t2 ..|t0 t1 t2 ..|t0 t1 t2 ..|   each stream goes on where the last tile left it
 *
 *   Tiles are sized for x64's 16 vector registers. On 32, eight tokens of one panel or four of two would fit: docs/arm.md. */
#ifndef HALFBYTE_LINEAR_H
#define HALFBYTE_LINEAR_H
#include "kernel.h"
#include "simd.h"

/* Rows of one tile: enough to pay for unpacking weights from the second-level cache, few enough to share the work. */
enum { TOKEN_CHUNK = 64 };
/* Panels of a tile. N is padded to this many, so that every tile is whole. */
enum { STREAMS = 4 };

INLINE uint32_t panel_stride(const struct op_linear *op) { return round_up(op->n, STREAMS * PANEL) / PANEL / STREAMS; }
INLINE uint32_t token_chunks(const struct op_linear *op, const struct step *step) {
    return (row_count((const struct op *)op, step) + TOKEN_CHUNK - 1) / TOKEN_CHUNK;
}

static inline uint32_t linear_tiles(const struct op *o, const struct step *step) {
    const struct op_linear *op = (const struct op_linear *)o;
    return token_chunks(op, step) * panel_stride(op);
}

/* One number per stream: first, + near, + far, + near + far. */
struct four { uint32_t first, near, far; };
INLINE uint32_t of_stream(struct four f, uint32_t p) { return f.first + (p & 1) * f.near + (p >> 1) * f.far; }

/* The part of an op that one tile is: a panel of each stream, the panel of y that it becomes, rows m0..m1. */
struct span { struct four w, y; uint32_t m0, m1; };

INLINE struct span linear_span(const struct op_linear *op, const struct step *step, uint32_t t) {
    const uint32_t chunks = token_chunks(op, step), m0 = t % chunks * TOKEN_CHUNK, stride = panel_stride(op);
    const uint32_t m1 = min_u32(m0 + TOKEN_CHUNK, row_count((const struct op *)op, step));
    const struct four panels = {t / chunks, stride, 2 * stride};
    return (struct span){panels, panels, m0, m1};
}

/* The product of a span, for kernels that go on with it: as a tile of the kernel computes and writes it. */
typedef void linear_product(const struct op_linear *op, const struct span *span);
linear_product DOTS(linear_w8a8_product), DOTS(linear_w4a8_product), DOTS(linear_w4ma8_product);

/* y = acc + bias, or y + (acc + bias): the 8 outputs of one panel and one row. y_panel: where in the row of y. */
INLINE void write_panel(const struct op_linear *op, uint32_t m, uint32_t panel, uint32_t y_panel, v128_t low, v128_t high) {
    float *y = AT(float *, op->y + m * op->y_stride) + y_panel * PANEL;
    if (op->bias) {
        const float *bias = AT(const float *, op->bias) + panel * PANEL;
        low = add(low, load(bias));
        high = add(high, load(bias + 4));
    }
    if (op->accumulate) {
        low = add(load(y), low);
        high = add(load(y + 4), high);
    }
    store(y, low);
    store(y + 4, high);
}
INLINE void write_one__ref(const struct op_linear *op, uint32_t m, uint32_t n, float acc) {
    float *y = AT(float *, op->y + m * op->y_stride) + n;
    if (op->bias) acc = acc + AT(const float *, op->bias)[n];
    *y = op->accumulate ? *y + acc : acc;
}
#endif
