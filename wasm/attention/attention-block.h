/* attention-block.h: one block for a tile, in every format: dots, weights, values. In: a tile at a block. Out: the
 * sums of its queries, updated by the block. The definition: attention.c.                                      exact */
#ifndef HALFBYTE_ATTENTION_BLOCK_H
#define HALFBYTE_ATTENTION_BLOCK_H
#include "attention/attention-codes.h"
#include "attention/attention-float.h"
#include "simd/cap.h"
#include "simd/limit.h"

/* Groups of 4 positions visible to some query of the tile. */
struct range { uint32_t from, to; };
static struct range seen_groups(const struct tile *tile) {
    uint32_t low = BLOCK_POSITIONS, high = 0;
    for (uint32_t i = 0; i < tile->count; i++) {
        if (!sees(&tile->queries[i])) continue;
        low = min_u32(low, tile->queries[i].low);
        high = max_u32(high, tile->queries[i].high);
    }
    return (struct range){low / 4, (high + 3) / 4};
}

typedef void score_columns(struct tile *tile, uint32_t first, struct columns columns);
typedef void accumulate_columns(struct tile *tile, uint32_t first, struct columns columns, uint32_t from, uint32_t to);
/* Indexed by the number of queries. */
#define ONE_TO_FOUR(name) {DOTS(name##_1), DOTS(name##_2), DOTS(name##_3), DOTS(name##_4)}
static score_columns *const score_f32[] = ONE_TO_FOUR(score_floats), *const score_int8[] = ONE_TO_FOUR(score_codes);
static accumulate_columns *const accumulate_f32[] = ONE_TO_FOUR(accumulate_f32), *const accumulate_int8[] = ONE_TO_FOUR(accumulate_codes),
                     *const accumulate_fp8[] = ONE_TO_FOUR(accumulate_fp8);

/* A tile's queries, split into parts that fit the registers. Parts are as even as possible: no part has a single query
 * unless all have. */
struct split { uint32_t least, larger; };
static struct split split_of(uint32_t count, uint32_t most) {
    const uint32_t parts = (count + most - 1) / most;
    return (struct split){count / parts, count % parts};
}
INLINE uint32_t size_of(struct split split, uint32_t part) { return split.least + (part < split.larger); }
/* Vectors that a part of the tile works on at once. */
INLINE uint32_t wide_of(uint32_t count) { return count == 1 ? 4 : 2; }
/* Columns that a part processes before the next part runs. A block of floats is still arriving from memory, so all
   parts finish one column before any starts the next. */
INLINE uint32_t turn_of(const struct tile *tile, uint32_t format) {
    return format == KV_F32 && tile->count <= HEAD_TILE ? 1 : VECTORS;
}

/* tile->s = scores of all queries with the positions visible to some query of the tile. A whole block is read as
   several streams far apart, each continuing where it stopped, a pattern that prefetchers follow. */
static void score_block(struct tile *tile, struct range groups) {
    const uint32_t format = tile->op->k_format, is_int8 = format == KV_INT8, whole = groups.from == 0 && groups.to == VECTORS;
    const struct split split = split_of(tile->count, is_int8 ? CODES_TILE : QUAD);
    score_columns *const *score = is_int8 ? score_int8 : score_f32;
    const uint32_t wide = wide_of(tile->count), apart = whole ? VECTORS / wide : 1, step = whole ? 1 : wide;
    const uint32_t end = whole ? apart : groups.to, turn = turn_of(tile, format) * step;
    for (uint32_t i = 0; i < tile->count; i++) tile->highest[i] = splat(-__builtin_inff());
    for (uint32_t g = groups.from / wide * wide; g < end; g += turn) {
        for (uint32_t i = 0, part = 0, n; i < tile->count; i += n, part++) {
            n = size_of(split, part);
            score[n - 1](tile, i, (struct columns){g, min_u32(g + turn, end), step, apart});
        }
    }
}

/* The masks shared by queries that see the same positions of a block. */
static void prepare_words(struct words *words, const struct tile *tile, const struct query *query) {
    if (words->low == query->low && words->high == query->high) return;
    words->low = query->low;
    words->high = query->high;
    const int is_int8 = tile->op->v_format == KV_INT8, whole = query->high - query->low == BLOCK_POSITIONS;
    words->scales = kv_scales(tile->v, tile->dim);
    words->offsets = kv_offsets(tile->v, tile->dim);
    if (!whole) {
        /* int8: `ratios` has the scales, so `seen` can hold the offsets. */
        float *seen = (float *)words->seen;
        for (uint32_t g = 0; g < VECTORS; g++) {
            const v128_t lanes = seen_lanes(g, query->low, query->high);
            words->ratio[g] = wasm_v128_and(load(words->scales + 4 * g), lanes);
            words->seen[g] = is_int8 ? wasm_v128_and(load(words->offsets + 4 * g), lanes) : words->ratio[g];
        }
        words->scales = is_int8 ? (const float *)words->ratio : seen;
        words->offsets = seen;
    }
    if (!is_int8) return;
    v128_t most = load(words->scales);
    for (uint32_t g = 1; g < VECTORS; g++) most = wasm_f32x4_max(most, load(words->scales + 4 * g));
    most = wasm_f32x4_max(most, wasm_i32x4_shuffle(most, most, 2, 3, 0, 1));
    most = wasm_f32x4_max(most, wasm_i32x4_shuffle(most, most, 1, 0, 3, 2));
    const float largest = wasm_f32x4_extract_lane(most, 0);
    const v128_t factor = splat(weight_factor(largest));
    words->unit = weight_unit(largest);
    for (uint32_t g = 0; g < VECTORS; g++) words->ratio[g] = mul(load(words->scales + 4 * g), factor);
}

/* Turns dots with codes into scores. Returns the largest. */
static float scores_of_codes(v128_t *s, const struct query *query, const float *words) {
    const v128_t scale = splat(query->scale), codes = splat(query->sum_of_codes);
    v128_t most = splat(-__builtin_inff());
    for (uint32_t g = 0; g < VECTORS; g++) {
        const v128_t affine = mul(wasm_f32x4_convert_i32x4(s[g]), load(words + 4 * g));
        s[g] = mul(add(affine, mul(load(words + BLOCK_POSITIONS + 4 * g), codes)), scale);
        most = wasm_f32x4_pmax(most, s[g]);
    }
    return wasm_f32x4_extract_lane(greatest(most), 0);
}
/* Sets scores of invisible positions to -inf and returns the largest. */
static float mask_scores(v128_t *s, const struct query *query) {
    v128_t most = splat(-__builtin_inff());
    for (uint32_t g = 0; g < VECTORS; g++) {
        s[g] = wasm_v128_bitselect(s[g], splat(-__builtin_inff()), seen_lanes(g, query->low, query->high));
        most = wasm_f32x4_pmax(most, s[g]);
    }
    return wasm_f32x4_extract_lane(greatest(most), 0);
}

/* Applies the soft cap and returns the largest score. A separate function, because few models have soft caps. */
static __attribute__((noinline)) float cap_scores(v128_t *s, float cap) {
    const struct exp_constants c = exp_constants();
    v128_t most = splat(-__builtin_inff());
    for (uint32_t g = 0; g < VECTORS; g++) {
        s[g] = capped(s[g], cap, &c);
        most = wasm_f32x4_pmax(most, s[g]);
    }
    return wasm_f32x4_extract_lane(greatest(most), 0);
}

/* Clamps scores to a range and returns the largest. A separate function for the same reason. */
static __attribute__((noinline)) float limit_scores(v128_t *s, float least, float most) {
    v128_t greatest_of = splat(-__builtin_inff());
    for (uint32_t g = 0; g < VECTORS; g++) {
        s[g] = limited(s[g], splat(least), splat(most));
        greatest_of = wasm_f32x4_pmax(greatest_of, s[g]);
    }
    return wasm_f32x4_extract_lane(greatest(greatest_of), 0);
}

/* Adds the biases of the block's positions to their scores and returns the largest. A separate function for the same
 * reason. */
static __attribute__((noinline)) float bias_scores(v128_t *s, const float *bias) {
    const v128_t unit = splat(LOG2_E);
    v128_t most = splat(-__builtin_inff());
    for (uint32_t g = 0; g < VECTORS; g++) {
        s[g] = add(s[g], mul(load(bias + 4 * g), unit));
        most = wasm_f32x4_pmax(most, s[g]);
    }
    return wasm_f32x4_extract_lane(greatest(most), 0);
}

/* Turns the scores of query i into softmax weights, and updates its sums by the block. An invisible position gets the
   weight 2^-126, too small to change a sum. Its words are 0, and its f32 values are not read. */
INLINE void softmax(struct tile *tile, uint32_t i, const struct words *words, const int v_format) {
    v128_t *s = tile->s[i];
    const struct exp2_constants exp2 = exp2_constants();
    const v128_t most = load_splat(&tile->most[i]), taken = load_splat(&tile->taken[i]);
    v128_t weights = splat(0), offsets = splat(0);
    ROLLED for (uint32_t g = 0; g < VECTORS; g += 2) {
        v128_t w[2] = {sub(s[g], most), sub(s[g + 1], most)};
        exp2_vectors(w, 2, &exp2);
        UNROLLED for (uint32_t e = 0; e < 2; e++) {
            if (v_format != KV_INT8) {
                weights = add(weights, w[e]);
                w[e] = mul(w[e], taken);
            }
            s[g + e] = v_format == KV_FP8 ? mul(w[e], load(words->scales + 4 * (g + e))) : w[e];
        }
    }
    /* A separate loop, because in the one above its vectors would not fit in the registers next to the constants of
     * exp2. Pinned sums: LLVM would move them behind the loop and keep what they add in memory. */
    ROLLED for (uint32_t g = 0; v_format == KV_INT8 && g < VECTORS; g += 4) {
        const v128_t rounder = exp2.rounder;
        v128_t u[4];
        UNROLLED for (uint32_t e = 0; e < 4; e++) {
            const v128_t w = s[g + e];
            weights = add(weights, w);
            pin(weights);
            u[e] = wasm_i32x4_sub(add(mul(w, words->ratio[g + e]), rounder), rounder);
            offsets = add(offsets, mul(w, load(words->offsets + 4 * (g + e))));
            pin(offsets);
        }
        put16(tile->w_codes[i], 4 * g, u, HAS_PLANES);
    }
    struct sums *sums = &tile->queries[i].segment;
    const v128_t kept = load_splat(&tile->kept[i]);
    sums->weights = add(mul(sums->weights, kept), mul(weights, taken));
    if (v_format != KV_INT8) return;
    sums->offsets = add(mul(sums->offsets, kept), mul(offsets, taken));
    tile->taken[i] *= words->unit;
}
static void softmax_f32(struct tile *tile, uint32_t i, const struct words *words) {
    softmax(tile, i, words, KV_F32);
}
static void softmax_int8(struct tile *tile, uint32_t i, const struct words *words) {
    softmax(tile, i, words, KV_INT8);
}
static void softmax_fp8(struct tile *tile, uint32_t i, const struct words *words) {
    softmax(tile, i, words, KV_FP8);
}

/* For a query that sees no position of the block. Values are added for its whole register tile, so its weights are set
 * to 0. */
static void skip_block(struct tile *tile, uint32_t i) {
    tile->kept[i] = 1;
    tile->taken[i] = 0;
    for (uint32_t v = 0; v < VECTORS; v++) tile->s[i][v] = splat(0);
    for (uint32_t v = 0; v < BLOCK_POSITIONS / 8; v++) tile->w_codes[i][v] = splat(0);
}

/* Computes all maxima, then all running maxima, then all weights. Query by query, each would wait for the previous
 * one. */
static void softmax_block(struct tile *tile) {
    const struct op_attention *op = tile->op;
    for (uint32_t i = 0; i < tile->count; i++) {
        const struct query *query = &tile->queries[i];
        v128_t *s = tile->s[i];
        tile->most[i] = -__builtin_inff();
        if (!sees(query)) continue;
        float most = op->k_format == KV_F32 ? wasm_f32x4_extract_lane(greatest(tile->highest[i]), 0)
                                            : scores_of_codes(s, query, kv_scales(tile->k, tile->dim));
        if (op->cap > 0) most = cap_scores(s, op->cap * LOG2_E);
        if (op->least < op->most) most = limit_scores(s, op->least * LOG2_E, op->most * LOG2_E);
        if (query->bias) most = bias_scores(s, query->bias + tile->base);
        if (query->high - query->low != BLOCK_POSITIONS) most = mask_scores(s, query);
        tile->most[i] = most;
    }
    const struct exp2_constants exp2 = exp2_constants();
    for (uint32_t i = 0; i < tile->count; i += 4) {
        v128_t top = load(tile->top + i);
        const struct factors factors = rescale(&top, load(tile->most + i), &exp2);
        store(tile->top + i, top);
        store(tile->kept + i, factors.kept);
        store(tile->taken + i, factors.taken);
    }
    struct words words; /* initialising all of it would be a call of V8 */
    words.low = words.high = 0;
    for (uint32_t i = 0; i < tile->count; i++) {
        const struct query *query = &tile->queries[i];
        if (!sees(query)) {
            skip_block(tile, i);
            continue;
        }
        if (op->v_format != KV_F32) prepare_words(&words, tile, query);
        switch (op->v_format) {
        case KV_F32: softmax_f32(tile, i, &words); break;
        case KV_INT8: softmax_int8(tile, i, &words); break;
        default: softmax_fp8(tile, i, &words); break;
        }
    }
}

/* Adds the weighted values of a range of positions (int8: groups of 4) to y of queries first..end, in columns far apart
 * as in score_block(). */
static void accumulate_range(struct tile *tile, uint32_t first, uint32_t end, struct range range) {
    const uint32_t format = tile->op->v_format, vectors = tile->dim / 4, wide = wide_of(end - first);
    const uint32_t apart = format == KV_FP8 ? 0 : vectors / wide, columns = apart * wide, turn = turn_of(tile, format);
    const struct split split = split_of(end - first, format == KV_INT8 ? CODES_TILE : QUAD);
    accumulate_columns *const *accumulate = format == KV_F32 ? accumulate_f32 : format == KV_INT8 ? accumulate_int8 : accumulate_fp8;
    if (range.from >= range.to) return;
    for (uint32_t d4 = 0; d4 < vectors;) {
        const uint32_t to = d4 < apart ? min_u32(d4 + turn, apart) : vectors;
        for (uint32_t i = first, part = 0, n; i < end; i += n, part++) {
            n = size_of(split, part);
            accumulate[n - 1](tile, i, (struct columns){d4, to, 1, d4 < apart ? apart : 0}, range.from, range.to);
        }
        d4 = to == apart ? columns : to;
    }
}

/* Multiplies y by the factors of old sums, before several ranges of values are added to it. */
static void keep_sums(struct tile *tile) {
    for (uint32_t i = 0; i < tile->count; i++) {
        const v128_t kept = load_splat(&tile->kept[i]);
        for (uint32_t d = 0; d < tile->dim / 4; d++) y_of(tile, i)[d] = mul(y_of(tile, i)[d], kept);
        tile->kept[i] = 1;
    }
}
/* f32 values that are invisible to a query may be garbage, so only positions visible to all queries are added together,
 * and ragged ends query by query. */
static void accumulate_ragged(struct tile *tile, uint32_t first, uint32_t end) {
    struct range all = {0, BLOCK_POSITIONS};
    for (uint32_t i = first; i < end; i++) {
        all.from = max_u32(all.from, tile->queries[i].low);
        all.to = min_u32(all.to, tile->queries[i].high);
    }
    if (all.from >= all.to) all.from = all.to = BLOCK_POSITIONS;
    for (uint32_t i = first; i < end; i++) {
        accumulate_range(tile, i, i + 1, (struct range){tile->queries[i].low, min_u32(all.from, tile->queries[i].high)});
    }
    accumulate_range(tile, first, end, all);
    for (uint32_t i = first; i < end; i++) {
        accumulate_range(tile, i, i + 1, (struct range){max_u32(all.to, tile->queries[i].low), tile->queries[i].high});
    }
}

/* Updates y of all queries by the block. */
static void accumulate_block(struct tile *tile, struct range groups) {
    const uint32_t format = tile->op->v_format, count = tile->count;
    const struct split split = split_of(count, QUAD);
    int same = 1;
    for (uint32_t i = 1; i < count; i++) {
        same = same && tile->queries[i].low == tile->queries[0].low && tile->queries[i].high == tile->queries[0].high;
    }
    switch (format) {
    case KV_F32:
        if (!same) keep_sums(tile);
        for (uint32_t i = 0, part = 0, n; i < count; i += n, part++) {
            n = same ? count : size_of(split, part);
            accumulate_ragged(tile, i, i + n);
        }
        break;
    case KV_INT8: accumulate_range(tile, 0, count, groups); break;
    default: accumulate_range(tile, 0, count, (struct range){4 * groups.from, 4 * groups.to}); break;
    }
}
#endif
