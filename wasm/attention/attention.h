/* attention.h: one tile of attention: queries of some rows and heads that read the same keys and values. In: their
 * addresses. Out: what the parts of attention.c share. Included by attention*.{c,h} only.
 *
 *   tile    up to MAX_QUERIES queries, rows ascending, of heads of one KV head. It computes all of a block's scores,
 *           then all weights, then all values: keys and values come from the first-level cache after their first use */
#ifndef HALFBYTE_ATTENTION_H
#define HALFBYTE_ATTENTION_H
#include "simd/exp2.h"
#include "core/kernel.h"
#include "attention/kv.h"
#include "attention/rotate.h"

enum {
    MAX_QUERIES = 32, MAX_TILE_FLOATS = 2048, QUAD = 4, HEAD_TILE = 8, VECTORS = BLOCK_POSITIONS / 4,
    QUERY_MOST = 8191,  /* 14 bits with the sign: a block's dots stay below 2^31 up to head_dim 512 */
    WEIGHT_MOST = 16383, /* 14 bits without a sign */
    AHEAD_BYTES = 768 * 1024 /* of codes prefetched for other tiles */
};
#define LOG2_E 0x1.715476p0f

INLINE const uint32_t *table_of(const struct op_attention *op, const struct sequence *seq) {
    return AT(const uint32_t *, seq->tables[op->group]);
}
INLINE uint32_t first_seen(const struct op_attention *op, uint32_t to) {
    return op->window && to > op->window ? to - op->window : 0;
}
/* Positions after its own that a row attends to. */
INLINE uint32_t seen_after(const struct op_attention *op, const struct sequence *seq) { return seq->whole ? ~0u : op->after; }
/* The end of the range of positions visible to the row at `position`. */
INLINE uint32_t seen_end(const struct op_attention *op, const struct sequence *seq, uint32_t position) {
    const uint32_t end = seq->position + seq->rows, after = seen_after(op, seq);
    return after < end - position ? position + 1 + after : end;
}
/* Number of positions in each segment of the row at `position`. */
INLINE uint32_t segment_length(uint32_t position) {
    uint32_t blocks = 4;
    while (blocks * MAX_SEGMENTS < position / BLOCK_POSITIONS + 1) blocks *= 2;
    return blocks * BLOCK_POSITIONS;
}
/* The biases of head `h` for the row at `position`, starting with that of position 0. */
INLINE const float *biases_of(const struct op_attention *op, uint32_t h, uint32_t position) {
    return AT(const float *, op->bias) + h * (2 * op->reach + BLOCK_POSITIONS) + op->reach - position;
}
INLINE float query_factor(float largest) { return largest < LEAST_RANGE ? 0 : (float)QUERY_MOST / largest; }
INLINE float query_unit(float largest) { return largest < LEAST_RANGE ? 0 : largest / (float)QUERY_MOST; }
INLINE float weight_factor(float most) { return most < LEAST_RANGE ? 0 : (float)WEIGHT_MOST / most; }
INLINE float weight_unit(float most) { return most / (float)WEIGHT_MOST; }

/* The softmax state of a query: the running max in all lanes; by position % 4, the sums of the weights, and of the
   weights times the offsets of int8 values. Its y is in the tile. */
struct sums { v128_t top, weights, offsets; };

/* One head of one row. Positions from..to are absolute, low..high are those of the current block; none: low >= high. */
struct query {
    struct sums segment, all;   /* of the current segment, of those before */
    const float *q, *bias;      /* bias: of position 0; 0 if the op has none */
    uint32_t m, head, from, to, low, high;
    float scale, sum_of_codes;  /* of int8 K: score = (dot * scale of key + offset of key * sum_of_codes) * scale */
};

/* The words of a block's values for queries that see positions low..high; 0 for invisible positions. */
struct words {
    uint32_t low, high;
    float unit;                      /* int8: most / WEIGHT_MOST, most: the largest seen scale */
    const float *scales, *offsets;   /* fp8; int8: into the block, or into `seen` */
    v128_t ratio[VECTORS];           /* int8: scale / most * WEIGHT_MOST */
    v128_t seen[VECTORS];
};

struct tile {
    const struct op_attention *op;
    uint32_t dim, count;
    uint32_t base;  /* the first position of the current block */
    uint8_t *k, *v; /* of the current block */
    uint32_t last_block, heads_ahead; /* the last block visible to its rows; KV heads whose codes it prefetches */
    struct query queries[MAX_QUERIES];
    /* Per query: the running max, the block's max, and the block's effect on y: the factors of the old and of the
     * new. */
    float top[MAX_QUERIES], most[MAX_QUERIES], kept[MAX_QUERIES], taken[MAX_QUERIES];
    v128_t y[MAX_TILE_FLOATS / 4], all_y[MAX_TILE_FLOATS / 4]; /* [query][head_dim / 4]: the segment's, all before */
    v128_t s[MAX_QUERIES][VECTORS];                             /* dots with codes, scores, weights */
    v128_t highest[MAX_QUERIES];                                /* f32 K: the block's largest scores, by lane */
    v128_t q_codes[MAX_TILE_FLOATS / 8];                        /* int8 K: factors of each query, 2 * head_dim bytes */
    v128_t w_codes[MAX_QUERIES][BLOCK_POSITIONS / 8];           /* int8 V: factors of each query's weights */
};

/* Vectors of a block that queries process. Vectors of a column are `apart` from each other; columns go from..to by
 * `step`. apart 0: one vector each. */
struct columns { uint32_t from, to, step, apart; };

INLINE v128_t *y_of(struct tile *tile, uint32_t i) { return tile->y + i * (tile->dim / 4); }
INLINE int sees(const struct query *query) { return query->low < query->high; }
INLINE v128_t seen_lanes(uint32_t vector, uint32_t low, uint32_t high) {
    const v128_t position = wasm_i32x4_add(wasm_u32x4_make(0, 1, 2, 3), wasm_u32x4_splat(4 * vector));
    return wasm_v128_and(wasm_i32x4_ge(position, wasm_u32x4_splat(low)), wasm_i32x4_lt(position, wasm_u32x4_splat(high)));
}
/* The largest lane, in all lanes. */
INLINE v128_t greatest(v128_t v) {
    v = wasm_f32x4_pmax(v, wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
    return wasm_f32x4_pmax(v, wasm_i32x4_shuffle(v, v, 1, 0, 3, 2));
}
/* Sets `top` to the larger of two maxima. Returns the factors of the old and of the new sums: 2^(old - next). */
struct factors { v128_t kept, taken; };
INLINE struct factors rescale(v128_t *top, v128_t other, const struct exp2_constants *c) {
    const v128_t next = wasm_f32x4_pmax(*top, other);
    v128_t v[2] = {sub(*top, next), sub(other, next)};
    exp2_vectors(v, 2, c);
    *top = next;
    return (struct factors){v[0], v[1]};
}
#endif
