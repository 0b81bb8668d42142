/* sparse_sb84: the products of one strip whose weights are kept or dropped in blocks of 8 outputs x 4 inputs.  exact
 *
 *   strip    segments of 32 groups, the last may be shorter; g groups have 4 g items, one for each group and panel:
 *            | head 16 | list 8 g, to a multiple of 16 | items |
 *   head     u8 [9]: items that keep 0, 1, .. 8 blocks; 7 bytes of zeros
 *   list     u8 [2] per item: mask, bit j: inputs 4j..4j+3 of the group are kept | 4 * group in the segment + panel
 *   item     | 16 scales bytes, as in w4_g32 | one value for each bit of the mask, ascending |
 *   value    w4: 16 bytes, w8: 32 bytes, as the vectors of inputs 4j..4j+3 in the dense block
 *
 *   Items are sorted by the number of blocks they keep. The loop over the blocks of an item is then unrolled, and its
 *   length is mispredicted nine times a segment instead of at every item. The terms of an item's 8 outputs are stored
 *   on the stack until the end of the segment, and are then added group by group: the order of the dense kernels.
 *
 *   terms  f32 [row of x][item by its number in the list][8] */
/* forms: quads, pairs, products */
#include "sparse/sparse.h"

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

/* x: several rows, interleaved quad by quad. One load then reads a quad of each row, and one sum is enough for the
   value subtracted from them. With one sum per row for four rows, V8 moved eleven vectors to and from its frame at
   every block. */
struct scratch {
    float terms[ROW_TILE][ITEMS][8], sx[ROW_TILE][SEGMENT];
    int8_t x[SEGMENT * GROUP * ROW_TILE];
};

/* The interleaved rows. */
INLINE uint32_t side_of(const int tokens) { return tokens <= 2 ? (uint32_t)tokens : ROW_TILE; }

/* to: i8 [quad][side][4], from rows `stride` bytes apart. A missing fourth row is a copy of the third. */
INLINE void interleave_rows(int8_t *to, const int8_t *x, uint32_t stride, uint32_t bytes, const int tokens) {
    const int8_t *row[ROW_TILE];
    UNROLLED for (int t = 0; t < ROW_TILE; t++) row[t] = x + (uint32_t)(t < tokens ? t : tokens - 1) * stride;
    for (uint32_t i = 0; i < bytes; i += 16, to += 16 * side_of(tokens)) {
        const v128_t a = load(row[0] + i), b = load(row[1] + i);
        const v128_t ab = wasm_i32x4_shuffle(a, b, 0, 4, 1, 5), ab2 = wasm_i32x4_shuffle(a, b, 2, 6, 3, 7);
        if (tokens == 2) {
            store(to, ab);
            store(to + 16, ab2);
            continue;
        }
        const v128_t c = load(row[2] + i), d = load(row[3] + i);
        const v128_t cd = wasm_i32x4_shuffle(c, d, 0, 4, 1, 5), cd2 = wasm_i32x4_shuffle(c, d, 2, 6, 3, 7);
        store(to, wasm_i64x2_shuffle(ab, cd, 0, 2));
        store(to + 16, wasm_i64x2_shuffle(ab, cd, 1, 3));
        store(to + 32, wasm_i64x2_shuffle(ab2, cd2, 0, 2));
        store(to + 48, wasm_i64x2_shuffle(ab2, cd2, 1, 3));
    }
}

/* One value of a panel times a quad of each of `tokens` interleaved rows. */
INLINE void add_beside(struct sums *sums, const uint8_t *value, struct quad x, struct masks masks, const int tokens,
                       const int wide) {
    if (wide) {
        UNROLLED for (int half = 0; half < 2; half++) {
            const struct bytes w = split_bytes(load(value + 16 * half), masks);
            UNROLLED for (int t = 0; t < tokens; t++) {
                add_bytes(&sums[t].s[2 * half], &sums[t].s[2 * half + 1], w, quad_at(x, t));
            }
        }
    } else {
        const struct nibbles w = split_nibbles(load(value), masks);
        UNROLLED for (int t = 0; t < tokens; t++) add_nibbles(&sums[t].s[0], &sums[t].s[2], w, quad_at(x, t));
    }
}

/* One item that keeps `blocks`. With one row, `blocks` is a constant and the loop over the blocks is unrolled. x: of
 * the segment; several rows are interleaved by interleave_rows(). */
INLINE void item(const uint8_t *list, const uint8_t *w, struct scratch *s, const int8_t *x, struct constants c, v128_t eights,
                 const uint32_t blocks, const int tokens, const int wide) {
    const uint8_t *position = (const uint8_t *)&kept[list[0]];
    /* A local copy; otherwise every load through it would add the table's address again. */
    __asm__("" : "+r"(position));
    const uint32_t id = list[1], group4 = id & ~3u, bytes = wide ? 32 : 16, side = side_of(tokens);
    const uint8_t *value = w + 16;
    x += group4 * (GROUP / 4) * side;
    __asm__("" : "+r"(x));
    struct sums sums[ROW_TILE];
    v128_t offset = wasm_i32x4_splat(0);
    UNROLLED for (int t = 0; t < tokens; t++) sums[t] = no_sums();
    if (tokens == 1) {
        UNROLLED for (uint32_t j = 0; j < MOST; j++) {
            if (j >= blocks) break;
            const struct quad quad = spread(load_splat(x + position[j]));
            offset = add_eightfold(offset, quad, eights);
            add_value(sums, value + j * bytes, &quad, c.masks, 1, wide);
        }
    } else {
        ROLLED for (const uint8_t *end = position + blocks; position < end; position++, value += bytes) {
            const int8_t *at = x + *position * side;
            const struct quad quads = spread(tokens == 2 ? wasm_v128_load64_splat(at) : load(at));
            offset = add_masked(offset, quads, c.masks);
            pin(offset);
            add_beside(sums, value, quads, c.masks, tokens, wide);
        }
    }
    const v128_t scales = load(w), eightfold = tokens == 1 ? all_eightfold(offset) : all_masked(offset);
    UNROLLED for (int t = 0; t < tokens; t++) {
        const v128_t sx = load_splat((const uint8_t *)s->sx[t] + group4);
        const struct sums whole = less(sums[t], tokens == 1 ? eightfold : splat_lane(eightfold, t), wide);
        store_terms(s->terms[t][id], low_rows(whole, c.ones, wide), high_rows(whole, c.ones, wide), scales, sx, c.half);
    }
}

/* The items that keep `blocks`. */
INLINE void items(const uint8_t **list, const uint8_t **w, const uint8_t *head, struct scratch *s, const int8_t *x,
                  struct constants c, const uint32_t blocks, const int tokens, const int wide) {
    const v128_t eights = constant(0x08080808);
    const uint8_t *l = *list, *end = l + 2 * head[blocks], *v = *w;
    const uint32_t bytes = 16 + blocks * (wide ? 32 : 16);
    if (tokens == 1 && !wide) {
        /* Two at a time, because V8 checks its stack limit in every iteration. */
        for (; end - l >= 4; l += 4, v += 2 * bytes) {
            item(l, v, s, x, c, eights, blocks, tokens, wide);
            item(l + 2, v + bytes, s, x, c, eights, blocks, tokens, wide);
        }
        if (l < end) {
            item(l, v, s, x, c, eights, blocks, tokens, wide);
            l += 2;
            v += bytes;
        }
    } else {
        for (; l < end; l += 2, v += bytes) item(l, v, s, x, c, eights, blocks, tokens, wide);
    }
    *list = l;
    *w = v;
}

INLINE void product(const uint8_t *strip, const struct op_linear *op, uint32_t m, float (*y)[STRIP], const int wide,
                    const int tokens) {
    struct scratch scratch __attribute__((aligned(16)));
    const struct constants c = constants();
    const uint32_t groups = round_up(op->k, GROUP) / GROUP;
    const uint8_t *w = strip;
    int8_t *x = AT(int8_t *, op->x + m * op->x_stride);
    UNROLLED for (int t = 0; t < tokens; t++) {
        for (int i = 0; i < STRIP; i += 4) store(y[t] + i, splat(0));
    }
    for (uint32_t g0 = 0; g0 < groups; g0 += SEGMENT) {
        const uint32_t n = min_u32(SEGMENT, groups - g0);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const float *sx = a8_scales(x + (uint32_t)t * op->x_stride, op->k) + g0;
            for (uint32_t g = 0; g < n; g += 4) store(scratch.sx[t] + g, mul(load(sx + g), splat(SCALE_UNIT)));
        }
        const int8_t *codes = x + g0 * GROUP;
        if (tokens > 1) {
            interleave_rows(scratch.x, codes, op->x_stride, n * GROUP, tokens);
            codes = scratch.x;
        }
        const uint8_t *head = w, *list = w + HEAD;
        w = list + list_bytes(n);
        for (const uint8_t *line = list; line < w; line += 64) __asm__ volatile("" ::"r"(*(const volatile uint32_t *)line));
        if (tokens == 1) {
            UNROLLED for (uint32_t blocks = 0; blocks <= MOST; blocks++) items(&list, &w, head, &scratch, codes, c, blocks, tokens, wide);
        } else {
            for (uint32_t blocks = 0; blocks <= MOST; blocks++) items(&list, &w, head, &scratch, codes, c, blocks, tokens, wide);
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
