/* sparse_ls16: the products of one strip in which every output keeps any inputs.                               exact
 *
 *   strip    segments of 16 groups, the last may be shorter; g groups have 8 g items, one for each half of a group and
 *            each panel: | head 32 | list 8 g, to a multiple of 16 | items |
 *   head     u8 [2][9]: items of first halves, of second halves, that have 0, 1, .. 8 vectors; 14 bytes of zeros
 *   list     u8 per item: 8 * group in the segment + 4 * half + panel
 *   item     | first half: 16 scales bytes, as in w4_g32 | sums | vectors |: up to 2 kept weights of 8 outputs in each
 *   sums     of the item's weights minus the zero code: w4 i8 [8], w8 i16 [8] and times 8
 *   vectors  byte 2 i + v belongs to row i. w4: low nibbles input of the half, high nibbles code.
 *            w8: inputs, the second of two vectors in the high nibbles, to a multiple of 16; then i8 codes
 *
 *   All outputs of a panel have as many vectors as the fullest output; zero codes fill the others. Items of the same
 *   length are adjacent, for the reason that sparse-sb84.c gives. */
#include "sparse/sparse.h"

enum { SEGMENT = 16, HEAD = 32, MOST = 8, HALF = GROUP / 2 };

INLINE uint32_t list_bytes(uint32_t groups) { return round_up(2 * STRIP_PANELS * groups, 16); }
INLINE uint32_t sums_bytes(const int wide) { return wide ? 16 : 8; }
INLINE uint32_t index_bytes(uint32_t vectors, const int wide) { return wide ? (vectors + 1) / 2 * 16 : 0; }

INLINE void codes__ref(const uint8_t *w, uint32_t groups, int16_t *codes, uint16_t *scales, int wide) {
    const uint32_t k = groups * GROUP;
    for (uint32_t i = 0; i < STRIP * k; i++) codes[i] = 0;
    for (uint32_t g0 = 0; g0 < groups; g0 += SEGMENT) {
        const uint32_t n = min_u32(SEGMENT, groups - g0);
        const uint8_t *head = w, *list = w + HEAD;
        w = list + list_bytes(n);
        for (uint32_t class = 0; class < 2 * (MOST + 1); class++) {
            const uint32_t half = class / (MOST + 1), vectors = class % (MOST + 1);
            for (uint32_t item = 0; item < head[class]; item++, list++) {
                const uint32_t g = g0 + *list / 8, row0 = *list % STRIP_PANELS * PANEL;
                if (half == 0) {
                    for (uint32_t i = 0; i < PANEL; i++) scales[(row0 + i) * groups + g] = scale__ref(w, i);
                    w += 16;
                }
                w += sums_bytes(wide);
                const uint8_t *values = w + index_bytes(vectors, wide);
                for (uint32_t at = 0; at < 16 * vectors; at++) {
                    const uint32_t input = wide ? w[at / 32 * 16 + at % 16] >> at / 16 % 2 * 4 & 15 : values[at] & 15;
                    codes[(row0 + at % 16 / 2) * k + g * GROUP + HALF * half + input] +=
                        (int16_t)(wide ? (int8_t)values[at] : (values[at] >> 4) - 8);
                }
                w = values + 16 * vectors;
            }
        }
    }
}
void sparse_w4_ls16__ref(const uint8_t *strip, uint32_t groups, int16_t *codes, uint16_t *scales) {
    codes__ref(strip, groups, codes, scales, 0);
}
void sparse_w8_ls16__ref(const uint8_t *strip, uint32_t groups, int16_t *codes, uint16_t *scales) {
    codes__ref(strip, groups, codes, scales, 1);
}

struct scratch {
    struct pair_sums sums[SEGMENT][STRIP_PANELS][2];
    v128_t scales[SEGMENT][STRIP_PANELS];
    struct table x[SEGMENT][2];
};

/* Adds one item of `vectors` vectors, a constant; returns its end. */
INLINE const uint8_t *item(const uint8_t *w, uint32_t id, struct scratch *s, struct lookup c, const uint32_t half,
                           const uint32_t vectors, const int wide) {
    const uint32_t g = id / 8, p = id % STRIP_PANELS;
    if (half == 0) {
        store(&s->scales[g][p], load(w));
        w += 16;
    }
    struct pair_sums sums = wide ? wide_start_of(w, c) : start_of(w, c);
    const struct table x = s->x[g][half];
    const uint8_t *indices = w + sums_bytes(wide), *values = indices + index_bytes(vectors, wide);
    UNROLLED for (uint32_t j = 0; j < vectors; j++) {
        const v128_t codes = load(values + 16 * j);
        if (wide) {
            const v128_t two = load(indices + j / 2 * 16);
            add_wide_pair(&sums, codes, x, wasm_v128_and(j % 2 ? wasm_u16x8_shr(two, 4) : two, c.low4));
        } else {
            add_pair(&sums, split_pairs(codes, c).high, x, wasm_v128_and(codes, c.low4), c);
        }
    }
    s->sums[g][p][half] = sums;
    return values + 16 * vectors;
}

INLINE void product(const uint8_t *w, const struct op_linear *op, uint32_t m, float *y, const int wide) {
    const uint32_t groups = round_up(op->k, GROUP) / GROUP;
    const struct lookup c = lookup(wide);
    const v128_t half = half_constants().mask;
    int8_t *x = AT(int8_t *, op->x + m * op->x_stride);
    const float *sx = a8_scales(x, op->k);
    struct scratch s;
    v128_t acc[8];
    UNROLLED for (int i = 0; i < 8; i++) acc[i] = splat(0);
    for (uint32_t g0 = 0; g0 < groups; g0 += SEGMENT) {
        const uint32_t n = min_u32(SEGMENT, groups - g0);
        for (uint32_t i = 0; i < 2 * n; i++) {
            s.x[i / 2][i % 2] = make_table(wasm_v128_xor(load(x + g0 * GROUP + HALF * i), c.flip), c, wide);
        }
        const uint8_t *head = w, *list = w + HEAD;
        w = list + list_bytes(n);
        UNROLLED for (uint32_t class = 0; class < 2 * (MOST + 1); class++) {
            const uint8_t *end = list + head[class];
            for (; list < end; list++) w = item(w, *list, &s, c, class / (MOST + 1), class % (MOST + 1), wide);
        }
        ROLLED for (uint32_t g = 0; g < n; g++) {
            const v128_t scale = splat(sx[g0 + g] * SCALE_UNIT);
            UNROLLED for (uint32_t p = 0; p < STRIP_PANELS; p++) {
                const struct pair_sums *sums = s.sums[g][p];
                const v128_t high = load(&s.scales[g][p]), low = wasm_i32x4_shl(high, 16);
                const v128_t first = wasm_i32x4_add(first_rows(sums[0], c, wide), first_rows(sums[1], c, wide));
                const v128_t last = wasm_i32x4_add(last_rows(sums[0], c, wide), last_rows(sums[1], c, wide));
                acc[2 * p] = add(acc[2 * p], term_of(first, low, scale, half));
                acc[2 * p + 1] = add(acc[2 * p + 1], term_of(last, high, scale, half));
                pin(acc[2 * p]);
                pin(acc[2 * p + 1]);
            }
        }
    }
    UNROLLED for (int i = 0; i < 8; i++) store(y + 4 * i, acc[i]);
}

/* One row after the other: the second finds the strip in the first-level cache. */
void sparse_w4_ls16(const uint8_t *strip, const struct op_linear *op, uint32_t m, uint32_t rows, float (*y)[STRIP]) {
    ROLLED for (uint32_t r = 0; r < rows; r++) product(strip, op, m + r, y[r], 0);
}
void sparse_w8_ls16(const uint8_t *strip, const struct op_linear *op, uint32_t m, uint32_t rows, float (*y)[STRIP]) {
    ROLLED for (uint32_t r = 0; r < rows; r++) product(strip, op, m + r, y[r], 1);
}
