/* sparse_sb84: the products of one strip whose weights are kept or dropped in blocks of 8 outputs x 4 inputs.          exact
 *
 *   strip    segments of 32 groups, the last may be shorter; g groups have 4 g items, one for each group and panel:
 *            | head 16 | list 8 g, to a multiple of 16 | items |
 *   head     u8 [9]: items that keep 0, 1, .. 8 blocks; 7 bytes of zeros
 *   list     u8 [2] per item: mask, bit j: inputs 4j..4j+3 of the group are kept | 4 * group in the segment + panel
 *   item     | 16 scales bytes, as in w4_g32 | one value for each bit of the mask, ascending |
 *   value    w4: 16 bytes, w8: 32 bytes, as the vectors of inputs 4j..4j+3 in the dense block
 *
 *   Items are sorted by the number of blocks they keep. The loop over the blocks of an item is then unrolled, and its
 *   length is mispredicted nine times a segment, not at every item. What an item adds to its 8 outputs lies on the stack
 *   until the segment is through, and is added group by group: the order of the dense kernels.
 *
 *   terms  f32 [row of x][item by its number in the list][8]     x  [row of x][group][8] codes of 4 inputs | their sum */
#include "sparse.h"

enum { SEGMENT = 32, ITEMS = SEGMENT * STRIP_PANELS, HEAD = 16, MOST = 8 };

INLINE uint32_t list_bytes(uint32_t groups) { return round_up(2 * STRIP_PANELS * groups, 16); }

INLINE void codes__ref(const uint8_t *w, uint32_t groups, int16_t *codes, uint16_t *scales, int wide) {
    const uint32_t k = groups * GROUP;
    for (uint32_t i = 0; i < STRIP * k; i++) codes[i] = 0;
    for (uint32_t g0 = 0; g0 < groups; g0 += SEGMENT) {
        const uint32_t n = min_u32(SEGMENT, groups - g0);
        const uint8_t *list = w + HEAD;
        w = list + list_bytes(n);
        for (uint32_t item = 0; item < STRIP_PANELS * n; item++, list += 2) {
            const uint32_t g = g0 + list[1] / STRIP_PANELS, row0 = list[1] % STRIP_PANELS * PANEL;
            for (uint32_t i = 0; i < PANEL; i++) scales[(row0 + i) * groups + g] = scale__ref(w, i);
            w += 16;
            for (uint32_t j = 0; j < 8; j++) {
                if (!(list[0] >> j & 1)) continue;
                for (uint32_t i = 0; i < PANEL; i++) {
                    for (uint32_t b = 0; b < 4; b++) codes[(row0 + i) * k + g * GROUP + 4 * j + b] = code__ref(w, i, b, wide);
                }
                w += wide ? 32 : 16;
            }
        }
    }
}
void DOTS(sparse_w4_sb84__ref)(const uint8_t *strip, uint32_t groups, int16_t *codes, uint16_t *scales) {
    codes__ref(strip, groups, codes, scales, 0);
}
void DOTS(sparse_w8_sb84__ref)(const uint8_t *strip, uint32_t groups, int16_t *codes, uint16_t *scales) {
    codes__ref(strip, groups, codes, scales, 1);
}

struct entry { uint32_t codes; int32_t sum; };
struct scratch { struct entry x[ROW_TILE][SEGMENT][8]; float terms[ROW_TILE][ITEMS][8], sx[ROW_TILE][SEGMENT]; };

INLINE void prepare_segment(struct scratch *s, const struct op_linear *op, uint32_t m, uint32_t g0, uint32_t n,
                            const int tokens) {
    for (int t = 0; t < tokens; t++) {
        int8_t *row = AT(int8_t *, op->x + (m + (uint32_t)t) * op->x_stride);
        const float *scales = a8_scales(row, op->k) + g0;
        for (uint32_t g = 0; g < n; g++) {
            struct entry *to = s->x[t][g];
            UNROLLED for (int i = 0; i < 2; i++, to += 4) {
                const v128_t codes = load(row + (g0 + g) * GROUP + 16 * i);
                const v128_t sums = wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_extadd_pairwise_i8x16(codes));
                store(to, wasm_i32x4_shuffle(codes, sums, 0, 4, 1, 5));
                store(to + 2, wasm_i32x4_shuffle(codes, sums, 2, 6, 3, 7));
            }
            s->sx[t][g] = scales[g] * SCALE_UNIT;
        }
    }
}

/* One item that keeps `blocks`; when these are a constant, the loop over them is unrolled. */
INLINE void item(const uint8_t *list, const uint8_t *w, struct scratch *s, struct constants c, const uint32_t blocks,
                 const int unrolled, const int tokens, const int wide) {
    const uint8_t *position = (const uint8_t *)&kept[list[0]];
    /* Or every load from it would add the table's address anew. */
    __asm__("" : "+r"(position));
    const uint32_t id = list[1], bytes = wide ? 32 : 16;
    const struct entry *x = s->x[0][id / STRIP_PANELS];
    struct sums sums[ROW_TILE];
    int32_t sum[ROW_TILE];
    UNROLLED for (int t = 0; t < tokens; t++) {
        sums[t] = no_sums();
        sum[t] = 0;
    }
#define BLOCK(j)                                                                                                   \
    {                                                                                                              \
        const struct entry *entry = x + position[j];                                                               \
        struct quad quads[ROW_TILE];                                                                               \
        UNROLLED for (int t = 0; t < tokens; t++) {                                                                \
            quads[t] = spread(load_splat(&entry[t * SEGMENT * 8].codes));                                          \
            sum[t] += entry[t * SEGMENT * 8].sum;                                                                  \
        }                                                                                                          \
        add_value(sums, w + 16 + (j) * bytes, quads, c.masks, tokens, wide);                                       \
    }
    if (unrolled) {
        UNROLLED for (uint32_t j = 0; j < MOST; j++) {
            if (j < blocks) BLOCK(j)
        }
    } else {
        ROLLED for (uint32_t j = 0; j < blocks; j++) BLOCK(j)
    }
    const v128_t scales = load(w), low_scales = wasm_i32x4_shl(scales, 16);
    UNROLLED for (int t = 0; t < tokens; t++) {
        const v128_t offset = wasm_i32x4_splat(zero_code(wide) * sum[t]), sx = load_splat(&s->sx[t][id / STRIP_PANELS]);
        float *term = s->terms[t][id];
        store(term, term_of(wasm_i32x4_sub(low_rows(sums[t], c.ones, wide), offset), low_scales, sx, c.half));
        store(term + 4, term_of(wasm_i32x4_sub(high_rows(sums[t], c.ones, wide), offset), scales, sx, c.half));
    }
}

/* The items that keep `blocks`. */
INLINE void items(const uint8_t **list, const uint8_t **w, const uint8_t *head, struct scratch *s, struct constants c,
                  const uint32_t blocks, const int unrolled, const int tokens, const int wide) {
    const uint8_t *l = *list, *end = l + 2 * head[blocks], *v = *w;
    for (; l < end; l += 2, v += 16 + blocks * (wide ? 32 : 16)) item(l, v, s, c, blocks, unrolled, tokens, wide);
    *list = l;
    *w = v;
}

INLINE void product(const uint8_t *strip, const struct op_linear *op, uint32_t m, float (*y)[STRIP], const int wide,
                    const int tokens) {
    struct scratch scratch __attribute__((aligned(16)));
    const struct constants c = constants();
    const uint32_t groups = round_up(op->k, GROUP) / GROUP;
    const uint8_t *w = strip;
    UNROLLED for (int t = 0; t < tokens; t++) {
        for (int i = 0; i < STRIP; i += 4) store(y[t] + i, splat(0));
    }
    for (uint32_t g0 = 0; g0 < groups; g0 += SEGMENT) {
        const uint32_t n = min_u32(SEGMENT, groups - g0);
        prepare_segment(&scratch, op, m, g0, n, tokens);
        const uint8_t *head = w, *list = w + HEAD;
        w = list + list_bytes(n);
        if (tokens == 1) {
            UNROLLED for (uint32_t blocks = 0; blocks <= MOST; blocks++) items(&list, &w, head, &scratch, c, blocks, 1, tokens, wide);
        } else {
            for (uint32_t blocks = 0; blocks <= MOST; blocks++) items(&list, &w, head, &scratch, c, blocks, 0, tokens, wide);
        }
        UNROLLED for (int t = 0; t < tokens; t++) add_terms(y[t], scratch.terms[t][0], n);
    }
}

void DOTS(sparse_w4_sb84)(const uint8_t *strip, const struct op_linear *op, uint32_t m, uint32_t rows, float (*y)[STRIP]) {
    BY_ROWS(rows, product, strip, op, m, y, 0)
}
void DOTS(sparse_w8_sb84)(const uint8_t *strip, const struct op_linear *op, uint32_t m, uint32_t rows, float (*y)[STRIP]) {
    BY_ROWS(rows, product, strip, op, m, y, 1)
}
