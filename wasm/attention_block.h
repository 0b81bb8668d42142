/* attention_block.h: a block for a whole tile, in every format: dots, weights, values. In: a tile at a block. Out: what its
 * queries have gathered, moved on by the block. The definition: attention.c.                                          exact */
#ifndef HALFBYTE_ATTENTION_BLOCK_H
#define HALFBYTE_ATTENTION_BLOCK_H
#include "attention_codes.h"
#include "attention_float.h"
#include "cap.h"

/* Groups of 4 positions that some query of the tile sees. */
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

typedef void visit_groups(struct tile *tile, uint32_t first, uint32_t from, uint32_t to);
/* By the number of queries. */
#define ONE_TO_FOUR(name) {DOTS(name##_1), DOTS(name##_2), DOTS(name##_3), DOTS(name##_4)}
static visit_groups *const score_f32[] = ONE_TO_FOUR(score_floats), *const gather_f32[] = ONE_TO_FOUR(gather_f32);
static visit_groups *const score_int8[] = ONE_TO_FOUR(score_codes), *const gather_int8[] = ONE_TO_FOUR(gather_codes);
static visit_groups *const gather_fp8[] = ONE_TO_FOUR(gather_fp8);

/* tile->s = dots of all queries with the positions that some query of the tile sees. */
static void score_block(struct tile *tile, struct range groups) {
    const int is_int8 = tile->op->k_format == KV_INT8;
    for (uint32_t i = 0, n; i < tile->count; i += n) {
        n = min_u32(is_int8 ? CODES_TILE : QUAD, tile->count - i);
        (is_int8 ? score_int8 : score_f32)[n - 1](tile, i, groups.from, groups.to);
    }
}

/* What is common to queries that see the same positions of a block. */
static void lay_words(struct words *words, const struct tile *tile, const struct query *query) {
    if (words->low == query->low && words->high == query->high) return;
    words->low = query->low;
    words->high = query->high;
    const int is_int8 = tile->op->v_format == KV_INT8, whole = query->high - query->low == BLOCK_POSITIONS;
    words->scales = kv_scales(tile->v, tile->dim);
    words->offsets = kv_offsets(tile->v, tile->dim);
    if (!whole) {
        /* int8: ratios are of the scales, so that `seen` can hold the offsets. */
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

/* s = scores of the dots; returns the greatest that is seen, in all lanes. What is not seen becomes -inf. */
static v128_t scores_of_floats(v128_t *s, float scale) {
    const v128_t scales = splat(scale);
    v128_t most = splat(-__builtin_inff());
    for (uint32_t g = 0; g < VECTORS; g++) {
        s[g] = mul(s[g], scales);
        most = wasm_f32x4_pmax(most, s[g]);
    }
    return greatest(most);
}
static v128_t scores_of_codes(v128_t *s, const struct query *query, const float *words) {
    const v128_t scale = splat(query->scale), codes = splat(query->sum_of_codes);
    v128_t most = splat(-__builtin_inff());
    for (uint32_t g = 0; g < VECTORS; g++) {
        const v128_t affine = mul(wasm_f32x4_convert_i32x4(s[g]), load(words + 4 * g));
        s[g] = mul(add(affine, mul(load(words + BLOCK_POSITIONS + 4 * g), codes)), scale);
        most = wasm_f32x4_pmax(most, s[g]);
    }
    return greatest(most);
}
static v128_t mask_scores(v128_t *s, const struct query *query) {
    v128_t most = splat(-__builtin_inff());
    for (uint32_t g = 0; g < VECTORS; g++) {
        s[g] = wasm_v128_bitselect(s[g], splat(-__builtin_inff()), seen_lanes(g, query->low, query->high));
        most = wasm_f32x4_pmax(most, s[g]);
    }
    return greatest(most);
}

/* Soft caps; the greatest, in all lanes. A function of its own: few models have them. */
static __attribute__((noinline)) v128_t cap_scores(v128_t *s, float cap) {
    const struct exp_constants c = exp_constants();
    v128_t most = splat(-__builtin_inff());
    for (uint32_t g = 0; g < VECTORS; g++) {
        s[g] = capped(s[g], cap, &c);
        most = wasm_f32x4_pmax(most, s[g]);
    }
    return greatest(most);
}

/* Turns the scores of query i into weights, and moves its sums on by the block. Of a position that is not seen the weight
 * is 2^-126, which no sum feels: its words are 0, and f32 values are not gathered. */
INLINE void soften(struct tile *tile, uint32_t i, v128_t most, const struct words *words, const int v_format) {
    struct query *query = &tile->queries[i];
    v128_t *s = tile->s[i];
    const struct exp2_constants exp2 = exp2_constants();
    const v128_t rounder = constant(bits_of(ROUNDER));
    const struct factors factors = rescale(&query->segment.top, most, &exp2);
    v128_t weights = splat(0), offsets = splat(0), u[4];
    for (uint32_t g = 0; g < VECTORS; g += 4) {
        UNROLLED for (uint32_t f = 0; f < 4; f += 2) {
            v128_t w[2] = {sub(s[g + f], most), sub(s[g + f + 1], most)};
            exp2_vectors(w, 2, &exp2);
            UNROLLED for (uint32_t e = 0; e < 2; e++) {
                const uint32_t at = g + f + e;
                weights = add(weights, w[e]);
                if (v_format == KV_INT8) {
                    u[f + e] = wasm_i32x4_sub(add(mul(w[e], words->ratio[at]), rounder), rounder);
                    offsets = add(offsets, mul(w[e], load(words->offsets + 4 * at)));
                } else {
                    w[e] = mul(w[e], factors.taken);
                    s[at] = v_format == KV_FP8 ? mul(w[e], load(words->scales + 4 * at)) : w[e];
                }
            }
        }
        if (v_format == KV_INT8) put16(tile->w_codes[i], 4 * g, u, HAS_PLANES);
    }
    query->kept = factors.kept;
    query->taken = v_format == KV_INT8 ? mul(factors.taken, splat(words->unit)) : factors.taken;
    query->segment.weights = add(mul(query->segment.weights, factors.kept), mul(weights, factors.taken));
    if (v_format != KV_INT8) return;
    query->segment.offsets = add(mul(query->segment.offsets, factors.kept), mul(offsets, factors.taken));
}
static void soften_f32(struct tile *tile, uint32_t i, v128_t most, const struct words *words) {
    soften(tile, i, most, words, KV_F32);
}
static void soften_int8(struct tile *tile, uint32_t i, v128_t most, const struct words *words) {
    soften(tile, i, most, words, KV_INT8);
}
static void soften_fp8(struct tile *tile, uint32_t i, v128_t most, const struct words *words) {
    soften(tile, i, most, words, KV_FP8);
}

/* A query that sees nothing of the block: the others of its register tile are gathered as if it did. */
static void skip_block(struct tile *tile, uint32_t i) {
    tile->queries[i].kept = splat(1);
    tile->queries[i].taken = splat(0);
    for (uint32_t v = 0; v < VECTORS; v++) tile->s[i][v] = splat(0);
    for (uint32_t v = 0; v < BLOCK_POSITIONS / 8; v++) tile->w_codes[i][v] = splat(0);
}

static void soften_block(struct tile *tile) {
    const struct op_attention *op = tile->op;
    struct words words = {.high = 0};
    for (uint32_t i = 0; i < tile->count; i++) {
        struct query *query = &tile->queries[i];
        v128_t *s = tile->s[i];
        if (!sees(query)) {
            skip_block(tile, i);
            continue;
        }
        if (op->v_format != KV_F32) lay_words(&words, tile, query);
        v128_t most = op->k_format == KV_F32 ? scores_of_floats(s, op->scale * LOG2_E)
                                             : scores_of_codes(s, query, kv_scales(tile->k, tile->dim));
        if (op->cap > 0) most = cap_scores(s, op->cap * LOG2_E);
        if (query->high - query->low != BLOCK_POSITIONS) most = mask_scores(s, query);
        switch (op->v_format) {
        case KV_F32: soften_f32(tile, i, most, &words); break;
        case KV_INT8: soften_int8(tile, i, most, &words); break;
        default: soften_fp8(tile, i, most, &words); break;
        }
    }
}

/* f32 values that a query does not see may be anything: those that all see are gathered together, ragged ends one by one. */
static void gather_ragged(struct tile *tile, uint32_t first, uint32_t n) {
    uint32_t from = 0, to = BLOCK_POSITIONS;
    for (uint32_t i = first; i < first + n; i++) {
        from = max_u32(from, tile->queries[i].low);
        to = min_u32(to, tile->queries[i].high);
    }
    if (from >= to) from = to = BLOCK_POSITIONS;
    for (uint32_t i = first; i < first + n; i++) {
        DOTS(gather_f32_1)(tile, i, tile->queries[i].low, min_u32(from, tile->queries[i].high));
    }
    gather_f32[n - 1](tile, first, from, to);
    for (uint32_t i = first; i < first + n; i++) {
        DOTS(gather_f32_1)(tile, i, max_u32(to, tile->queries[i].low), tile->queries[i].high);
    }
}

/* y of all queries, moved on by the block. */
static void gather_block(struct tile *tile, struct range groups) {
    const uint32_t format = tile->op->v_format, vectors = tile->dim / 4;
    for (uint32_t i = 0; format != KV_INT8 && i < tile->count; i++) {
        const v128_t kept = tile->queries[i].kept;
        for (uint32_t d = 0; d < vectors; d++) y_of(tile, i)[d] = mul(y_of(tile, i)[d], kept);
    }
    for (uint32_t i = 0, n; i < tile->count; i += n) {
        n = min_u32(format == KV_INT8 ? CODES_TILE : QUAD, tile->count - i);
        switch (format) {
        case KV_F32: gather_ragged(tile, i, n); break;
        case KV_INT8: gather_int8[n - 1](tile, i, groups.from, groups.to); break;
        default: gather_fp8[n - 1](tile, i, 4 * groups.from, 4 * groups.to); break;
        }
    }
}
#endif
