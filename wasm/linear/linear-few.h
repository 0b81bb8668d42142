/* linear-few.h: products of few rows. In: a span with one panel of each stream, a function that adds a block. Out: rows
 * of y.
 *
 *   for each group
 *     group            splats of codes, scale, start           up to TOKEN_TILE rows
 *     for each stream  block of weights                        from memory, read once
 *       acc[stream][t] += ...                                  in registers, or in memory where they exceed them
 *
 *   The number of rows is a compile-time constant, so each number has its own code (BY_TOKEN_TILES). */
#ifndef HALFBYTE_LINEAR_FEW_H
#define HALFBYTE_LINEAR_FEW_H
#include "linear/linear.h"
#include "rows/quantize.h"

/* A panel is `head` bytes, then the blocks of the groups. zero: the stored code that means 0, 8 or 128. It contributes
 * -zero times the sum of the codes of x. */
struct block_layout { uint32_t head, bytes; int32_t zero; };

/* One group of several rows, prepared for all panels. offset: the scale times the sum of the codes of x, for
   minimums. */
struct group { struct activations qx[TOKEN_TILE]; v128_t sx[TOKEN_TILE], start[TOKEN_TILE], offset[TOKEN_TILE]; };

INLINE void prepare_group(struct group *group, int8_t *x, uint32_t stride, uint32_t k, uint32_t g, const int tokens,
                          const int32_t zero) {
    UNROLLED for (int t = 0; t < tokens; t++) {
        int8_t *row = x + (uint32_t)t * stride;
        const float scale = a8_scales(row, k)[g] * SCALE_UNIT;
        const int32_t xsum = a8_sums(row, k)[g];
        prepare(&group->qx[t], row + g * GROUP);
        group->sx[t] = splat(scale);
        group->start[t] = wasm_i32x4_splat(-zero * xsum);
        group->offset[t] = splat(scale * (float)xsum);
    }
}

/* acc[p][t] += the sums of a block of stream p. */
typedef void add_stream(v128_t (*acc)[TOKEN_TILE][2], const uint32_t p, const uint8_t *block, const struct group *group,
                        struct masks masks, const int tokens);

/* Rows m..m + tokens. With more than `most` rows, the sums of all streams exceed the registers. */
INLINE void few_rows(const struct op_linear *op, const struct span *span, uint32_t m, const int tokens,
                     const struct block_layout blocks, const int most, add_stream *add) {
    const uint32_t k = op->k, stride = op->x_stride, G = round_up(k, GROUP) / GROUP, bytes = blocks.bytes;
    const struct four streams = {0, span->w.near * G * bytes, span->w.far * G * bytes};
    const uint8_t *w = AT(const uint8_t *, op->w) + span->w.first * G * bytes;
    int8_t *x = AT(int8_t *, op->x + m * stride);
    const struct masks unpack = masks();
    v128_t sums[STREAMS][TOKEN_TILE][2], (*acc)[TOKEN_TILE][2] = sums;
    if (tokens > most) IN_MEMORY(acc);
    zero_sums(acc, tokens);
    for (uint32_t g = 0; g < G; g++, w += bytes) {
        struct group group;
        prepare_group(&group, x, stride, k, g, tokens, blocks.zero);
        /* Each panel has its own loads, because prefetchers that are indexed by the load instruction then see regular
         * strides. */
        UNROLLED for (uint32_t p = 0; p < STREAMS; p++) add(acc, p, w + of_stream(streams, p), &group, unpack, tokens);
    }
    write_streams(op, span, m, acc, tokens);
}
#endif
