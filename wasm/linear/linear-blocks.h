/* linear-blocks.h: products of many rows, BLOCK_ROWS at a time. In: a span, a function that adds several groups of
 * them. Out: rows of y.
 *
 *   With AVX-VNNI, dots and multiplications share two of the processor's vector units. Scaling the sums of a group
 *   takes two multiplications for eight dots, so the dots can use at most 80 % of these units. To come close to that,
 *   enough sums must be in progress to hide the latency of a dot, and little else may use the two units. So 5 rows by 8
 *   outputs are added at a time: 10 sums, two vectors of codes, a splat, a mask and a scale fill the 15 registers that
 *   V8 has. Scales and starts are made for all rows and several groups at once.
 *
 *   for BLOCK_GROUPS groups at a time
 *     rows[m]              scales, starts or offsets           rows of the tile
 *     for the i-th panel of each stream, for BLOCK_ROWS rows
 *       for each group     sums[panel][m] += ...               integers in registers, f32 in memory */
#ifndef HALFBYTE_LINEAR_BLOCKS_H
#define HALFBYTE_LINEAR_BLOCKS_H
#include "linear/linear-many.h"

#ifndef FEW_ROWS
#define FEW_ROWS INLINE
#endif

/* Enough groups to amortise a call, few enough for the rows to stay in the first-level cache. */
enum { BLOCK_GROUPS = 32 };

/* What scales some groups of a row. starts: of the integer sums, in encodings without minimums. offsets: the scale
 * times the sum of the codes of x, in encodings with minimums, whose sums start at 0. */
struct row_scales {
    float scales[BLOCK_GROUPS];
    union { int32_t starts[BLOCK_GROUPS]; float offsets[BLOCK_GROUPS]; };
};
INLINE void scale_row(struct row_scales *to, int8_t *row, uint32_t k, uint32_t g0, uint32_t groups,
                      const int32_t zero) {
    const float *scales = a8_scales(row, k) + g0;
    const int32_t *sums = a8_sums(row, k) + g0;
    for (uint32_t g = 0; g < groups; g++) {
        to->scales[g] = scales[g] * SCALE_UNIT;
        if (zero) to->starts[g] = -zero * sums[g];
        else to->offsets[g] = to->scales[g] * (float)sums[g];
    }
}

/* sums[p][t] += some groups of row t of x and the panel of stream p. */
typedef v128_t chunk_sums[TOKEN_CHUNK][2];
typedef void add_groups(chunk_sums *sums, const uint8_t *w, struct four streams, const int8_t *x, uint32_t x_stride,
                        const struct row_scales *rows, uint32_t groups);

/* What the block of a panel holds after 16 bytes of scales: NIBBLES vectors as in linear-w4.c; NIBBLES_M minimums, then
 * nibbles; BYTES vectors as in linear-w8.c, for dots whose second operand is unsigned. */
enum block_kind { NIBBLES, NIBBLES_M, BYTES };

INLINE void add_tile(chunk_sums *sums, const uint8_t *w, struct four streams, const int8_t *x, uint32_t x_stride,
                     const struct row_scales *rows, uint32_t groups, const enum block_kind kind) {
    const struct masks unpack = masks();
    const int8_t *at[BLOCK_ROWS];
    UNROLLED for (uint32_t t = 0; t < BLOCK_ROWS; t++) at[t] = x + t * x_stride;
    for (uint32_t g = 0; g < groups; g++, w += kind == BYTES ? 272 : kind == NIBBLES_M ? 160 : 144) {
        struct activations qx[BLOCK_ROWS];
        UNROLLED for (int t = 0; t < BLOCK_ROWS; t++) {
            prepare(&qx[t], at[t]);
            at[t] += GROUP;
        }
        UNROLLED for (uint32_t p = 0; p < STREAMS; p++) {
            const uint8_t *block = w + of_stream(streams, p);
            v128_t low[BLOCK_ROWS], high[BLOCK_ROWS], scales[2], minimums[2];
            UNROLLED for (int t = 0; t < BLOCK_ROWS; t++) {
                low[t] = high[t] = kind == NIBBLES_M ? wasm_i32x4_splat(0) : load_splat(&rows[t].starts[g]);
            }
            if (kind == BYTES) dot_unsigned_bytes(low, high, block + 16, qx, BLOCK_ROWS);
            else dot_nibbles(low, high, block + (kind == NIBBLES_M ? 32 : 16), 16, qx, unpack, BLOCK_ROWS);
            unpack_halves(scales, block);
            if (kind == NIBBLES_M) unpack_halves(minimums, block + 16);
            UNROLLED for (int t = 0; t < BLOCK_ROWS; t++) {
                const v128_t sx = load_splat(&rows[t].scales[g]);
                v128_t a = mul(wasm_f32x4_convert_i32x4(low[t]), mul(scales[0], sx));
                v128_t b = mul(wasm_f32x4_convert_i32x4(high[t]), mul(scales[1], sx));
                if (kind == NIBBLES_M) {
                    const v128_t offset = load_splat(&rows[t].offsets[g]);
                    a = add(a, mul(minimums[0], offset));
                    b = add(b, mul(minimums[1], offset));
                }
                store(&sums[p][t][0], add(load(&sums[p][t][0]), a));
                store(&sums[p][t][1], add(load(&sums[p][t][1]), b));
            }
        }
    }
}
/* A separate function: inlined, it would spill what its caller keeps in registers. */
#define ADD_TILE(name, kind)                                                                                           \
    static __attribute__((noinline)) void name(chunk_sums *sums, const uint8_t *w, struct four streams,                \
                                               const int8_t *x, uint32_t x_stride, const struct row_scales *rows,      \
                                               uint32_t groups) {                                                      \
        add_tile(sums, w, streams, x, x_stride, rows, groups, kind);                                                   \
    }

/* All whole tiles of BLOCK_ROWS rows. Returns their number of rows. */
INLINE uint32_t rows_by_blocks(const struct op_linear *op, const struct span *span, const struct block_layout blocks,
                               add_groups *add) {
    const uint32_t G = round_up(op->k, GROUP) / GROUP, count = (span->m1 - span->m0) / BLOCK_ROWS * BLOCK_ROWS;
    const uint32_t panels = STREAMS * span->width, panel_bytes = G * blocks.bytes;
    const struct four streams = {0, span->w.near * panel_bytes, span->w.far * panel_bytes};
    const uint8_t *w = AT(const uint8_t *, op->w) + span->w.first * panel_bytes;
    int8_t *x = AT(int8_t *, op->x + span->m0 * op->x_stride);
    chunk_sums sums[STREAMS * MAX_WIDTH];
    struct row_scales rows[TOKEN_CHUNK];
    zero_chunk(sums, panels, count);
    for (uint32_t g = 0; g < G; g += BLOCK_GROUPS) {
        const uint32_t groups = min_u32(BLOCK_GROUPS, G - g);
        for (uint32_t t = 0; t < count; t++) scale_row(&rows[t], x + t * op->x_stride, op->k, g, groups, blocks.zero);
        for (uint32_t i = 0; i < span->width; i++) {
            const uint8_t *block = w + i * panel_bytes + g * blocks.bytes;
            for (uint32_t t = 0; t < count; t += BLOCK_ROWS) {
                const int8_t *codes = x + t * op->x_stride + g * GROUP;
                add((chunk_sums *)&sums[STREAMS * i][t], block, streams, codes, op->x_stride, &rows[t], groups);
            }
        }
    }
    for (uint32_t p = 0; p < panels; p++) {
        const uint32_t panel = nth_of_streams(span->w, p), y_panel = nth_of_streams(span->y, p);
        for (uint32_t t = 0; t < count; t++) {
            write_panel(op, span->m0 + t, panel, y_panel, sums[p][t][0], sums[p][t][1]);
        }
    }
    return count;
}
#endif
