/* attention-codes.h: int8 keys and values. In: a tile at a block, 14-bit codes. Out: i32 dots.                 exact
 *
 *   dot   sum of key code * query code over dims      J   sum of value code * weight code over positions
 *
 * Both are the same product: vectors [4 lanes][4 inputs] of i8 codes times four factors that all lanes share. A factor
 * is too wide for the relaxed dot, so there are several forms, with the same exact results:
 *
 *   planes  factor = 128 * high + low, two planes of 0..127, each for one relaxed dot. Signed factors have 64 added to
 *           high; the sums stored after the keys subtract it again
 *   words   factor as i16, codes widened to i16: input pairs (0, 2) and (1, 3) of a vector, so i32x4.dot_i16x8 sums
 *           into the lanes
 *
 *   halves  words whose products are added one by one on Arm: two instructions for 8 products, where the dot takes four
 *
 *   planes  u8 [high or low][count]         words and halves  i16 [count / 4][0, 2, 1, 3]         2 * count bytes */
#ifndef HALFBYTE_ATTENTION_CODES_H
#define HALFBYTE_ATTENTION_CODES_H
#include "attention/attention.h"

/* Queries of a register tile: 4 x 2 sums of words or pairs of halves, or 3 x 2 of two planes. */
enum { CODES_TILE = HAS_PLANES ? 3 : 4 };

INLINE uint32_t bytes4(v128_t v) {
    v = wasm_i16x8_narrow_i32x4(v, v);
    return (uint32_t)wasm_i32x4_extract_lane(wasm_u8x16_narrow_i16x8(v, v), 0);
}
/* A query's codes i..i + 3 of `count`, -8191..8191. */
INLINE void put4(void *factors, uint32_t count, uint32_t i, v128_t v, const int planes) {
    if (planes) {
        const v128_t u = wasm_i32x4_add(v, wasm_i32x4_splat(8192));
        *(uint32_t *)((uint8_t *)factors + i) = bytes4(wasm_i32x4_shr(u, 7));
        *(uint32_t *)((uint8_t *)factors + count + i) = bytes4(wasm_v128_and(u, wasm_i32x4_splat(127)));
    } else {
        v = wasm_i32x4_shuffle(v, v, 0, 2, 1, 3);
        wasm_v128_store64_lane((int16_t *)factors + i, wasm_i16x8_narrow_i32x4(v, v), 0);
    }
}
/* A block's weights i..i + 15, 0..16383. */
INLINE void put16(void *factors, uint32_t i, const v128_t *v, const int planes) {
    if (planes) {
        const v128_t a = wasm_i16x8_narrow_i32x4(v[0], v[1]), b = wasm_i16x8_narrow_i32x4(v[2], v[3]), low = wasm_i16x8_splat(127);
        store((uint8_t *)factors + i, wasm_u8x16_narrow_i16x8(wasm_u16x8_shr(a, 7), wasm_u16x8_shr(b, 7)));
        store((uint8_t *)factors + BLOCK_POSITIONS + i, wasm_u8x16_narrow_i16x8(wasm_v128_and(a, low), wasm_v128_and(b, low)));
    } else {
        UNROLLED for (int e = 0; e < 4; e += 2) {
            const v128_t words = wasm_i16x8_narrow_i32x4(v[e], v[e + 1]);
            store((int16_t *)factors + i + 4 * e,
                  wasm_i16x8_shuffle(words, words, 0, 2, 1, 3, 4, 6, 5, 7));
        }
    }
}

/* sum += products of words, i32 [lane 0..3], or with halves sum += those of lanes 0 and 1, last += those of 2 and 3. */
INLINE void add_words(v128_t *sum, v128_t *last, v128_t codes, v128_t x) {
    if (!HAS_HALVES) {
        *sum = wasm_i32x4_add(*sum, wasm_i32x4_dot_i16x8(codes, x));
        return pin(*sum);
    }
    *sum = wasm_i32x4_add(*sum, wasm_i32x4_extmul_low_i16x8(codes, x));
    *last = wasm_i32x4_add(*last, wasm_i32x4_extmul_high_i16x8(codes, x));
    pin(*sum);
    pin(*last);
}
/* The i32 lanes of a sum. */
INLINE v128_t word_lanes(v128_t sum, v128_t last) {
    if (!HAS_HALVES) return sum;
    return wasm_i32x4_add(wasm_i32x4_shuffle(sum, last, 0, 2, 4, 6), wasm_i32x4_shuffle(sum, last, 1, 3, 5, 7));
}

/* One step of 4 inputs of `n` queries with `g` vectors of codes: acc[i][j], and acc[n + i][j] for the low planes or the
 * last halves. */
INLINE void dot_step(v128_t (*acc)[4], const int n, const int g, const uint8_t *const *codes, const uint8_t *const *factors,
                     uint32_t plane, uint32_t step, const int planes) {
    v128_t in[4], odd[4];
    UNROLLED for (int j = 0; j < g; j++) {
        in[j] = load(codes[j] + 16 * step);
        if (!planes) {
            odd[j] = wasm_i16x8_shr(in[j], 8);
            in[j] = wasm_i16x8_shr(wasm_i16x8_shl(in[j], 8), 8);
        }
    }
    UNROLLED for (int i = 0; i < n; i++) {
        const uint8_t *at = factors[i] + (planes ? 4 : 8) * step;
        /* One factor at a time: with 12 sums and 2 vectors of codes, these are the 15 registers of V8 on x64. */
        UNROLLED for (int part = 0; part < 2; part++) {
            const v128_t x = load_splat(at + (uint32_t)part * (planes ? plane : 4));
            UNROLLED for (int j = 0; j < g; j++) {
                v128_t *plane_sum = &acc[part * n + i][j];
                if (!planes) add_words(&acc[i][j], &acc[n + i][j], part ? odd[j] : in[j], x);
                else pin(*plane_sum = dot_plane(in[j], x, *plane_sum));
            }
        }
    }
}
/* The operands of a product: `steps` vectors for each of some lanes, `stride` bytes apart; the factors of some queries,
 * `plane` for each; the starts of planes, `start_stride` words apart, or 0. */
struct dots {
    const uint8_t *codes;
    uint32_t stride, steps;
    const uint8_t *factors;
    uint32_t plane;
    const int32_t *start;
    uint32_t start_stride;
};

/* out[i][j] = products of n queries with g times 4 lanes. Queries are `out_stride` vectors apart, consecutive j are
 * `apart`. */
INLINE void dot_codes(v128_t *out, uint32_t out_stride, uint32_t apart, const int n, const int g, struct dots of,
                      const int planes) {
    v128_t acc[2 * QUAD][4];
    const uint8_t *at[4], *factors[QUAD];
    UNROLLED for (int i = 0; i < n; i++) {
        UNROLLED for (int j = 0; j < g; j++) {
            acc[i][j] = planes && of.start ? load(of.start + of.start_stride * (uint32_t)j) : wasm_i32x4_splat(0);
            acc[n + i][j] = wasm_i32x4_splat(0);
        }
        factors[i] = of.factors + (uint32_t)i * 2 * of.plane;
    }
    UNROLLED for (int j = 0; j < g; j++) at[j] = of.codes + (uint32_t)j * of.stride;
    uint32_t left = of.steps;
    for (; left >= 4; left -= 4) {
        UNROLLED for (uint32_t e = 0; e < 4; e++) dot_step(acc, n, g, at, factors, of.plane, e, planes);
        UNROLLED for (int j = 0; j < g; j++) at[j] += 64;
        UNROLLED for (int i = 0; i < n; i++) factors[i] += planes ? 16 : 32;
    }
    for (; left > 0; left--) {
        dot_step(acc, n, g, at, factors, of.plane, 0, planes);
        UNROLLED for (int j = 0; j < g; j++) at[j] += 16;
        UNROLLED for (int i = 0; i < n; i++) factors[i] += planes ? 4 : 8;
    }
    UNROLLED for (int i = 0; i < n; i++) {
        UNROLLED for (int j = 0; j < g; j++) {
            out[(uint32_t)i * out_stride + (uint32_t)j * apart] =
                planes ? wasm_i32x4_add(wasm_i32x4_shl(acc[i][j], 7), acc[n + i][j]) : word_lanes(acc[i][j], acc[n + i][j]);
        }
    }
}

/* Turns the query into factors, once per tile. */
static void put_query_codes(struct tile *tile, uint32_t i) {
    struct query *query = &tile->queries[i];
    const uint32_t dim = tile->dim;
    const float largest = largest_of(query->q, dim), inverse = query_factor(largest);
    uint8_t *factors = (uint8_t *)tile->q_codes + i * dim * 2;
    v128_t sums = wasm_i32x4_splat(0);
    for (uint32_t d = 0; d < dim; d += 4) {
        const v128_t shifted = add(mul(load(query->q + d), splat(inverse)), splat(ROUNDER));
        const v128_t code = wasm_i32x4_sub(shifted, wasm_u32x4_splat(bits_of(ROUNDER)));
        put4(factors, dim, d, code, HAS_PLANES);
        sums = wasm_i32x4_add(sums, code);
    }
    query->sum_of_codes = (float)(int32_t)sum_lanes(sums);
    query->scale = query_unit(largest) * (tile->op->scale * LOG2_E);
}

/* s[i][group..] = dots of n queries with `groups` groups of 4 positions, `apart` groups from one to the next. */
INLINE void score_codes(struct tile *tile, uint32_t first, const int n, uint32_t group, uint32_t apart, const int groups) {
    const uint32_t dim = tile->dim;
    const struct dots of = {.codes = tile->k + group * dim * 4, .stride = apart * dim * 4, .steps = dim / 4, .plane = dim,
                            .factors = (const uint8_t *)tile->q_codes + first * dim * 2,
                            .start = kv_sums(tile->k, dim) + 4 * group, .start_stride = 4 * apart};
    dot_codes(tile->s[first] + group, VECTORS, apart, n, groups, of, HAS_PLANES);
}

/* Adds the weighted values of groups from..to of 4 positions to y of n queries, in `vectors` vectors of dims. The first
 * vector is d4, and each next one is `apart` further. Weights of invisible positions are 0. */
INLINE void accumulate_codes(struct tile *tile, uint32_t first, const int n, uint32_t d4, uint32_t apart, const int vectors,
                             uint32_t from, uint32_t to) {
    v128_t out[QUAD][4];
    const struct dots of = {.codes = tile->v + (d4 * (BLOCK_POSITIONS / 4) + from) * 16, .stride = apart * BLOCK_POSITIONS * 4,
                            .steps = to - from, .plane = BLOCK_POSITIONS,
                            .factors = (const uint8_t *)tile->w_codes[first] + from * (HAS_PLANES ? 4 : 8)};
    dot_codes(out[0], 4, 1, n, vectors, of, HAS_PLANES);
    UNROLLED for (int i = 0; i < n; i++) {
        const v128_t kept = load_splat(&tile->kept[first + (uint32_t)i]), taken = load_splat(&tile->taken[first + (uint32_t)i]);
        v128_t *y = y_of(tile, first + (uint32_t)i) + d4;
        UNROLLED for (int j = 0; j < vectors; j++) {
            v128_t *at = y + (uint32_t)j * apart;
            *at = add(mul(*at, kept), mul(wasm_f32x4_convert_i32x4(out[i][j]), taken));
        }
    }
}
#define CODES(n, vectors)                                                                                              \
    static void DOTS(score_codes_##n)(struct tile *tile, uint32_t first, struct columns c) {                           \
        for (uint32_t g = c.from; g < c.to; g += c.step) score_codes(tile, first, n, g, c.apart, vectors);             \
    }                                                                                                                  \
    static void DOTS(accumulate_codes_##n)(struct tile *tile, uint32_t first, struct columns c, uint32_t from, uint32_t to) { \
        uint32_t d4 = c.from;                                                                                          \
        for (; c.apart && d4 < c.to; d4++) accumulate_codes(tile, first, n, d4, c.apart, vectors, from, to);           \
        for (; d4 < c.to; d4++) accumulate_codes(tile, first, n, d4, 0, 1, from, to);                                  \
    }
CODES(1, 4)
CODES(2, 2)
CODES(3, 2)
CODES(4, 2)
#endif
