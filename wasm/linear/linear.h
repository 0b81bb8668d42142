/* linear.h: code shared by the linear kernels. In: an op_linear. Out: its tiles, and rows written with bias and
 * residual.
 *
 *   A tile is STREAMS panels, `stride` panels apart, times up to TOKEN_CHUNK rows. Many cores read several streams far
 *   apart faster than one: a single stream has too few cache misses in flight.
 *
 *   stride = panels / STREAMS:   tile t reads panels t, t + stride, t + 2 stride, t + 3 stride
 *
 *   memory  |t0 t1 t2 ..|t0 t1 t2 ..|t0 t1 t2 ..|t0 t1 t2 ..|   each stream continues where the last tile stopped
 *
 *   Register tiles are sized for the 16 registers of x64; linear-wide.c has tiles for the 32 of Arm. */
#ifndef HALFBYTE_LINEAR_H
#define HALFBYTE_LINEAR_H
#include "core/kernel.h"
#include "simd/simd.h"

/* Panels of a tile, far apart in memory. N is padded to this many panels, so every tile is whole. */
enum { STREAMS = 4 };
/* Rows of one tile, a multiple of BLOCK_ROWS: enough to amortise laying out weights, few enough to keep all sums in the
   first-level cache. From MANY rows, a tile is `width` times as wide, to amortise preparing activations. */
enum { TOKEN_CHUNK = (32 + BLOCK_ROWS - 1) / BLOCK_ROWS * BLOCK_ROWS, MANY = 16, WIDTH = 2, MAX_WIDTH = 4 };

INLINE uint32_t panel_stride(const struct op_linear *op) { return round_up(op->n, STREAMS * PANEL) / PANEL / STREAMS; }

/* The rows of an op, divided into chunks of the same size, a multiple of `tile` rows; the last may be smaller. */
struct chunks { uint32_t count, rows, width; };
INLINE struct chunks chunks_of(const struct op *op, const struct step *step, const uint32_t tile) {
    const uint32_t most = TOKEN_CHUNK / tile * tile, rows = row_count(op, step);
    const uint32_t count = max_u32((rows + most - 1) / most, 1);
    const uint32_t each = round_up((rows + count - 1) / count, tile);
    return (struct chunks){rows == 0 ? 0 : count, each, rows < MANY ? 1 : WIDTH};
}

INLINE uint32_t tiles_of_rows(const struct op *o, const struct step *step, const uint32_t tile) {
    const struct chunks chunks = chunks_of(o, step, tile);
    return chunks.count * ((panel_stride((const struct op_linear *)o) + chunks.width - 1) / chunks.width);
}
static inline uint32_t linear_tiles(const struct op *op, const struct step *step) {
    return tiles_of_rows(op, step, TOKEN_TILE);
}

/* One number per stream: first, + near, + far, + near + far. */
struct four { uint32_t first, near, far; };
INLINE uint32_t of_stream(struct four f, uint32_t p) { return f.first + (p & 1) * f.near + (p >> 1) * f.far; }
/* If each stream has several adjacent numbers: the p-th number, taking one from each stream in turn. */
INLINE uint32_t nth_of_streams(struct four f, uint32_t p) { return of_stream(f, p % STREAMS) + p / STREAMS; }

/* The part of an op that one tile computes: `width` panels of each stream, their panels in y, rows m0..m1. */
struct span { struct four w, y; uint32_t width, m0, m1; };

INLINE struct span linear_span(const struct op_linear *op, const struct step *step, uint32_t t, const uint32_t tile) {
    const struct chunks chunks = chunks_of((const struct op *)op, step, tile);
    const uint32_t stride = panel_stride(op), first = t / chunks.count * chunks.width;
    const uint32_t m0 = t % chunks.count * chunks.rows, m1 = min_u32(m0 + chunks.rows, row_count((const struct op *)op, step));
    const struct four panels = {first, stride, 2 * stride};
    return (struct span){panels, panels, min_u32(chunks.width, stride - first), m0, m1};
}

/* The i-th panel of each stream of a span. */
INLINE struct span side(const struct span *span, uint32_t i) {
    struct span one = *span;
    one.w.first += i;
    one.y.first += i;
    one.width = 1;
    return one;
}

/* Hides from the compiler what p points to, so that it is loaded and stored as written. */
#define IN_MEMORY(p) __asm__ volatile("" : "+r"(p)::"memory")

/* Calls `rows` for the rows of a span, up to TOKEN_TILE at a time. Their number is a compile-time constant, so that
 * each number gets its own loop. */
#define BY_TOKEN_TILES(op, span, rows, ...)                                                                            \
    for (uint32_t i = 0; i < (span)->width; i++) {                                                                     \
        const struct span one = side(span, i);                                                                         \
        uint32_t m = (span)->m0;                                                                                       \
        for (; m + TOKEN_TILE <= (span)->m1; m += TOKEN_TILE) rows(op, &one, m, TOKEN_TILE, ##__VA_ARGS__);            \
        switch ((span)->m1 - m) {                                                                                      \
        case 3: rows(op, &one, m, 3, ##__VA_ARGS__); break;                                                            \
        case 2: rows(op, &one, m, 2, ##__VA_ARGS__); break;                                                            \
        case 1: rows(op, &one, m, 1, ##__VA_ARGS__); break;                                                            \
        default: break;                                                                                                \
        }                                                                                                              \
    }

/* The product of a span, computed like a tile of the kernel, for kernels that continue with the result. */
typedef void linear_product(const struct op_linear *op, const struct span *span);
linear_product DOTS(linear_w8a8_product), DOTS(linear_w4a8_product), DOTS(linear_w4ma8_product);

/* Tile t of an op whose chunks are a multiple of `tile` rows: the product of its span. */
INLINE void product_tile(const struct op *o, const struct step *step, uint32_t t, const uint32_t tile,
                         linear_product *product) {
    const struct op_linear *op = (const struct op_linear *)o;
    const struct span span = linear_span(op, step, t, tile);
    product(op, &span);
}

/* y = acc + bias, or y + (acc + bias): the 8 outputs of one panel and one row. y_panel: the panel in the row of y. */
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
/* The f32 sums of a span of one panel of each stream, times a constant number of rows: how they start and end. */
INLINE void zero_sums(v128_t (*sums)[TOKEN_TILE][2], const int tokens) {
    UNROLLED for (int p = 0; p < STREAMS; p++) {
        UNROLLED for (int t = 0; t < tokens; t++) sums[p][t][0] = sums[p][t][1] = splat(0);
    }
}
INLINE void write_streams(const struct op_linear *op, const struct span *span, uint32_t m, v128_t (*sums)[TOKEN_TILE][2],
                          const int tokens) {
    UNROLLED for (uint32_t p = 0; p < STREAMS; p++) {
        UNROLLED for (int t = 0; t < tokens; t++) {
            const uint32_t panel = of_stream(span->w, p), y_panel = of_stream(span->y, p);
            write_panel(op, m + (uint32_t)t, panel, y_panel, sums[p][t][0], sums[p][t][1]);
        }
    }
}
/* The f32 sums of the rows of a tile, in memory. */
INLINE void zero_chunk(v128_t (*sums)[TOKEN_CHUNK][2], uint32_t panels, uint32_t count) {
    for (uint32_t p = 0; p < panels; p++) {
        for (uint32_t t = 0; t < count; t++) sums[p][t][0] = sums[p][t][1] = splat(0);
    }
}
INLINE void write_one__ref(const struct op_linear *op, uint32_t m, uint32_t n, float acc) {
    float *y = AT(float *, op->y + m * op->y_stride) + n;
    if (op->bias) acc = acc + AT(const float *, op->bias)[n];
    *y = op->accumulate ? *y + acc : acc;
}
#endif
