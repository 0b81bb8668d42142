/* attention-float.h: f32 keys, f32 and fp8 values. In: a tile at a block. Out: scores of the keys, sums of weighted
 * values.                                                                                                      exact
 *
 *   score   (keys[d] * q[d] ...) * scale, d ascending
 *   y[d]    y[d] * kept + w[p] * value[p][d] ..., p ascending over the seen positions
 *
 * A register tile is 4 queries x 2 vectors: 8 sums, 2 vectors of keys or values, a splat. */
#ifndef HALFBYTE_ATTENTION_FLOAT_H
#define HALFBYTE_ATTENTION_FLOAT_H
#include "attention/attention.h"

/* Stores the scores of query i with `groups` groups of positions, `apart` groups from one to the next. */
INLINE void put_scores(struct tile *tile, uint32_t i, uint32_t group, uint32_t apart, const v128_t *scores, const int groups) {
    v128_t highest = tile->highest[i];
    UNROLLED for (int j = 0; j < groups; j++) {
        tile->s[i][group + (uint32_t)j * apart] = scores[j];
        highest = wasm_f32x4_pmax(highest, scores[j]);
    }
    tile->highest[i] = highest;
}
/* s[i][group..] = scores of n queries with `groups` groups of 4 positions, `apart` groups from one to the next. */
INLINE void dot_floats(struct tile *tile, uint32_t first, const int n, uint32_t group, uint32_t apart, const int groups) {
    const uint32_t dim = tile->dim;
    v128_t dot[QUAD][4];
    const float *keys[4], *q[QUAD];
    UNROLLED for (int i = 0; i < n; i++) {
        UNROLLED for (int j = 0; j < groups; j++) dot[i][j] = splat(0);
        q[i] = tile->queries[first + (uint32_t)i].q;
    }
    UNROLLED for (int j = 0; j < groups; j++) keys[j] = (const float *)tile->k + (group + (uint32_t)j * apart) * dim * 4;
    for (uint32_t d = 0; d < dim; d += 4) {
        UNROLLED for (int e = 0; e < 4; e++) {
            v128_t in[4];
            UNROLLED for (int j = 0; j < groups; j++) in[j] = load(keys[j] + 4 * e);
            UNROLLED for (int i = 0; i < n; i++) {
                const v128_t x = load_splat(q[i] + e);
                UNROLLED for (int j = 0; j < groups; j++) {
                    dot[i][j] = add(dot[i][j], mul(in[j], x));
                    pin(dot[i][j]);
                }
            }
        }
        UNROLLED for (int j = 0; j < groups; j++) keys[j] += 16;
        UNROLLED for (int i = 0; i < n; i++) q[i] += 4;
    }
    const v128_t scale = splat(tile->op->scale * LOG2_E);
    UNROLLED for (int i = 0; i < n; i++) {
        UNROLLED for (int j = 0; j < groups; j++) dot[i][j] = mul(dot[i][j], scale);
        put_scores(tile, first + (uint32_t)i, group, apart, dot[i], groups);
    }
}
#define SCORE_FLOATS(n, groups)                                                                                        \
    static void DOTS(score_floats_##n)(struct tile *tile, uint32_t first, struct columns c) {                          \
        for (uint32_t g = c.from; g < c.to; g += c.step) dot_floats(tile, first, n, g, c.apart, groups);               \
    }
SCORE_FLOATS(1, 4)
SCORE_FLOATS(2, 2)
SCORE_FLOATS(3, 2)
SCORE_FLOATS(4, 2)

/* The values of 4 e3m4 codes, sign-extended to i32 lanes: exponent and mantissa move to f32's places. */
INLINE v128_t fp8_values(v128_t wide) {
    return mul(wasm_v128_and(wasm_i32x4_shl(wide, FP8_SHIFT), wasm_u32x4_splat(FP8_BITS)), splat(FP8_UNIT));
}
/* fp8 values of 4 positions, 4 dims each. */
INLINE void load_fp8(v128_t *in, const uint8_t *v) {
    const v128_t bytes = load(v), low = wasm_i16x8_extend_low_i8x16(bytes), high = wasm_i16x8_extend_high_i8x16(bytes);
    in[0] = fp8_values(wasm_i32x4_extend_low_i16x8(low));
    in[1] = fp8_values(wasm_i32x4_extend_high_i16x8(low));
    in[2] = fp8_values(wasm_i32x4_extend_low_i16x8(high));
    in[3] = fp8_values(wasm_i32x4_extend_high_i16x8(high));
}

/* y[i][j] += w[i] * in[j]; w: BLOCK_POSITIONS floats apart. */
INLINE void accumulate_position(v128_t (*y)[4], const float *w, const int n, const v128_t *in, const int vectors) {
    UNROLLED for (int i = 0; i < n; i++) {
        const v128_t x = load_splat(w + i * BLOCK_POSITIONS);
        UNROLLED for (int j = 0; j < vectors; j++) {
            y[i][j] = add(y[i][j], mul(x, in[j]));
            pin(y[i][j]);
        }
    }
}
/* Adds the weighted values of positions from..to of the block to kept * y of n queries, in `vectors` vectors of dims.
 * The first vector is d4, and each next one is `apart` further. fp8: whole groups of 4 positions, one vector. */
INLINE void accumulate_floats(struct tile *tile, uint32_t first, const int n, uint32_t d4, uint32_t apart, const int vectors,
                              uint32_t from, uint32_t to, const int fp8) {
    v128_t y[QUAD][4], in[4];
    UNROLLED for (int i = 0; i < n; i++) {
        const v128_t kept = load_splat(&tile->kept[first + (uint32_t)i]);
        UNROLLED for (int j = 0; j < vectors; j++) y[i][j] = mul(y_of(tile, first + (uint32_t)i)[d4 + (uint32_t)j * apart], kept);
    }
    const float *w = (const float *)tile->s[first] + from;
    const uint8_t *v = tile->v + (d4 * BLOCK_POSITIONS + from) * (fp8 ? 4 : 16);
    const uint8_t *at[4];
    uint32_t left = to - from;
    if (fp8) {
        for (; left >= 4; left -= 4, w += 4, v += 16) {
            load_fp8(in, v);
            UNROLLED for (int e = 0; e < 4; e++) accumulate_position(y, w + e, n, in + e, 1);
        }
    }
    UNROLLED for (int j = 0; j < vectors; j++) at[j] = v + (uint32_t)j * apart * BLOCK_POSITIONS * 16;
    for (; left >= 4; left -= 4, w += 4) {
        UNROLLED for (int e = 0; e < 4; e++) {
            UNROLLED for (int j = 0; j < vectors; j++) in[j] = load(at[j] + 16 * e);
            accumulate_position(y, w + e, n, in, vectors);
        }
        UNROLLED for (int j = 0; j < vectors; j++) at[j] += 64;
    }
    for (; left > 0; left--, w++) {
        UNROLLED for (int j = 0; j < vectors; j++) in[j] = load(at[j]);
        accumulate_position(y, w, n, in, vectors);
        UNROLLED for (int j = 0; j < vectors; j++) at[j] += 16;
    }
    UNROLLED for (int i = 0; i < n; i++) {
        UNROLLED for (int j = 0; j < vectors; j++) y_of(tile, first + (uint32_t)i)[d4 + (uint32_t)j * apart] = y[i][j];
    }
}
#define GATHER_FLOATS(n, vectors)                                                                                      \
    static void DOTS(accumulate_f32_##n)(struct tile *tile, uint32_t first, struct columns c, uint32_t from, uint32_t to) { \
        uint32_t d4 = c.from;                                                                                          \
        for (; c.apart && d4 < c.to; d4++) accumulate_floats(tile, first, n, d4, c.apart, vectors, from, to, 0);       \
        for (; d4 < c.to; d4++) accumulate_floats(tile, first, n, d4, 0, 1, from, to, 0);                              \
    }
GATHER_FLOATS(1, 4)
GATHER_FLOATS(2, 2)
GATHER_FLOATS(3, 2)
GATHER_FLOATS(4, 2)
#define GATHER_FP8(n)                                                                                                  \
    static void DOTS(accumulate_fp8_##n)(struct tile *tile, uint32_t first, struct columns c, uint32_t from, uint32_t to) { \
        for (uint32_t d4 = c.from; d4 < c.to; d4++) accumulate_floats(tile, first, n, d4, 0, 1, from, to, 1);          \
    }
GATHER_FP8(1)
GATHER_FP8(2)
GATHER_FP8(3)
GATHER_FP8(4)
#endif
