/* sparse_sv32: the products of one strip in which the 32 weights of an input are all kept or all dropped.      exact
 *
 *   strip    segments of 32 groups, the last may be shorter; a segment of g groups:
 *            | head 16 | order g, to a multiple of 16 | groups |
 *   head     u8 [9]: groups that keep 0, 4, 8, .. 32 inputs; 7 bytes of zeros
 *   order    u8 [g]: the groups by the number of inputs they keep, ascending
 *   group    in this order | [panel] 16 bytes of scales, as in w4_g32 | inputs | quads |
 *   inputs   of a group that keeps some but not all: u8 [number], ascending, to a multiple of 16: 0..15, then
 *            0x80 + 0..15
 *   quads    the kept inputs, four by four. [panel] one value: w4 16 bytes, w8 32 bytes, as the vectors of 4 inputs in
 *            a dense block
 *
 *   The number of kept inputs is a multiple of four: some inputs whose weights are zero are kept to reach it. Groups
 *   are sorted by that number. The loop over the quads is then unrolled, and its length is mispredicted a few times a
 *   segment instead of at every group. The terms of a group are stored on the stack until the end of the segment, and
 *   are then added in the order of the dense kernels.
 *
 *   An index looks the activation up in both halves of a group, with its top bit flipped for the second half. One of
 *   the two lookups gives zero. */
/* forms: quads, pairs, products */
#include "sparse/sparse.h"

enum { SEGMENT = 32, HEAD = 16, SCALES = 16 * STRIP_PANELS, MOST = 8 };

INLINE uint32_t value_bytes(const int wide) { return wide ? 32 : 16; }
/* Bytes of the indices of a group. */
INLINE uint32_t list_bytes(uint32_t quads) { return quads == MOST ? 0 : round_up(4 * quads, 16); }
INLINE uint32_t group_bytes(uint32_t quads, const int wide) {
    return SCALES + list_bytes(quads) + quads * STRIP_PANELS * value_bytes(wide);
}
INLINE uint32_t order_bytes(uint32_t groups) { return round_up(groups, 16); }

INLINE void codes__ref(const uint8_t *w, uint32_t groups, int16_t *codes, uint16_t *scales, int wide) {
    const uint32_t k = groups * GROUP;
    for (uint32_t i = 0; i < STRIP * k; i++) codes[i] = 0;
    for (uint32_t g0 = 0; g0 < groups; g0 += SEGMENT) {
        const uint32_t n = min_u32(SEGMENT, groups - g0);
        const uint8_t *head = w, *order = w + HEAD;
        w = order + order_bytes(n);
        for (uint32_t quads = 0; quads <= MOST; quads++) {
            for (uint32_t left = head[quads]; left > 0; left--, w += group_bytes(quads, wide)) {
                const uint32_t g = g0 + *order++;
                const uint8_t *inputs = w + SCALES;
                for (uint32_t i = 0; i < STRIP; i++) scales[i * groups + g] = scale__ref(w + i / PANEL * 16, i % PANEL);
                for (uint32_t j = 0; j < 4 * quads; j++) {
                    const uint32_t input = quads == MOST ? j : (inputs[j] & 15) + (inputs[j] >> 7) * 16;
                    const uint8_t *quad = inputs + list_bytes(quads) + j / 4 * STRIP_PANELS * value_bytes(wide);
                    for (uint32_t i = 0; i < STRIP; i++) {
                        codes[i * k + g * GROUP + input] =
                            code__ref(quad + i / PANEL * value_bytes(wide), i % PANEL, j % 4, wide);
                    }
                }
            }
        }
    }
}
void DOTS(sparse_w4_sv32__ref)(const uint8_t *strip, uint32_t groups, int16_t *codes, uint16_t *scales) {
    codes__ref(strip, groups, codes, scales, 0);
}
void DOTS(sparse_w8_sv32__ref)(const uint8_t *strip, uint32_t groups, int16_t *codes, uint16_t *scales) {
    codes__ref(strip, groups, codes, scales, 1);
}

struct scratch { float terms[ROW_TILE][SEGMENT][STRIP]; };

/* The kept activations of one group and row, then zeros, and where the sums of the group start. */
struct kept_inputs { v128_t codes[2], start; };

/* Bytes of ones, then of zeros. A mask of n bytes begins at 32 - n. */
static const uint64_t first_bytes[8] __attribute__((aligned(16))) = {~0ull, ~0ull, ~0ull, ~0ull, 0, 0, 0, 0};

INLINE void keep_inputs(struct kept_inputs *to, const int8_t *x, const uint8_t *inputs, v128_t flip, v128_t eights,
                        const uint32_t quads) {
    const v128_t low = load(x), high = load(x + 16);
    v128_t sum;
    if (quads == MOST) {
        store(&to->codes[0], low);
        store(&to->codes[1], high);
        sum = add_sums(eightfold(low, eights), eightfold(high, eights));
    } else if (quads == 0) {
        /* There is no list to read, and its address could be past the end of memory. */
        to->start = wasm_i32x4_splat(0);
        return;
    } else {
        const uint8_t *mask = (const uint8_t *)first_bytes + 32 - 4 * quads;
        UNROLLED for (uint32_t h = 0; h < 2; h++) {
            if (4 * h >= quads) break;
            const v128_t index = load(inputs + 16 * h);
            v128_t codes = wasm_v128_or(pick(low, index), pick(high, wasm_v128_xor(index, flip)));
            if (4 * h + 4 > quads) codes = wasm_v128_and(codes, load(mask + 16 * h));
            store(&to->codes[h], codes);
            sum = h == 0 ? eightfold(codes, eights) : add_sums(sum, eightfold(codes, eights));
        }
    }
    sum = add_sums(sum, wasm_i32x4_shuffle(sum, sum, 2, 3, 0, 1));
    to->start = negative(add_sums(sum, wasm_i32x4_shuffle(sum, sum, 1, 0, 3, 2)));
}

/* `panels` panels of one group, as many as have their sums in registers. When `quads` is a constant, the loop is
 * unrolled. */
INLINE void add_group(const uint8_t *values, const uint8_t *scales, const struct kept_inputs *kept, const v128_t *sx, float *terms,
                  struct constants c, const uint32_t quads, const int unrolled, const uint32_t panels, const int tokens,
                  const int wide) {
    struct sums sums[STRIP_PANELS][ROW_TILE];
    UNROLLED for (uint32_t p = 0; p < panels; p++) {
        UNROLLED for (int t = 0; t < tokens; t++) sums[p][t] = sums_from(kept[t].start, wide);
    }
#define QUAD(j)                                                                                                       \
    {                                                                                                                 \
        struct quad x[ROW_TILE];                                                                                      \
        UNROLLED for (int t = 0; t < tokens; t++) x[t] = spread(load_splat((const int32_t *)kept[t].codes + (j)));    \
        UNROLLED for (uint32_t p = 0; p < panels; p++) {                                                              \
            add_value(sums[p], values + ((j) * STRIP_PANELS + p) * value_bytes(wide), x, c.masks, tokens, wide);      \
        }                                                                                                             \
    }
    if (unrolled) {
        UNROLLED for (uint32_t j = 0; j < MOST; j++) {
            if (j < quads) QUAD(j)
        }
    } else {
        ROLLED for (uint32_t j = 0; j < quads; j++) QUAD(j)
    }
    UNROLLED for (uint32_t p = 0; p < panels; p++) {
        const v128_t halves = load(scales + 16 * p);
        UNROLLED for (int t = 0; t < tokens; t++) {
            float *to = terms + (uint32_t)t * SEGMENT * STRIP + p * PANEL;
            store_terms(to, low_rows(sums[p][t], c.ones, wide), high_rows(sums[p][t], c.ones, wide), halves, sx[t], c.half);
        }
    }
}

/* The position of the next group of a segment. */
struct cursor { const uint8_t *order, *w; };

/* The groups that keep `quads`. x: of the segment. */
INLINE void add_groups(struct cursor *cursor, const uint8_t *head, const struct op_linear *op, int8_t *x, uint32_t g0,
                   struct scratch *scratch, struct constants c, const uint32_t quads, const int unrolled, const int tokens,
                   const int wide) {
    const uint32_t most = wide ? 2 : 4, panels = tokens == 1 ? most : tokens == 2 ? most / 2 : 1;
    const v128_t flip = constant(0x80808080), eights = constant(0x08080808);
    struct cursor at = *cursor;
    for (const uint8_t *end = at.order + head[quads]; at.order < end; at.order++) {
        const uint32_t g = *at.order;
        struct kept_inputs kept[ROW_TILE];
        v128_t sx[ROW_TILE];
        UNROLLED for (int t = 0; t < tokens; t++) {
            int8_t *row = x + (uint32_t)t * op->x_stride;
            keep_inputs(&kept[t], row + (g0 + g) * GROUP, at.w + SCALES, flip, eights, quads);
            sx[t] = splat(a8_scales(row, op->k)[g0 + g] * SCALE_UNIT);
        }
        UNROLLED for (uint32_t p = 0; p < STRIP_PANELS; p += panels) {
            add_group(at.w + SCALES + list_bytes(quads) + p * value_bytes(wide), at.w + 16 * p, kept, sx, scratch->terms[0][g] + p * PANEL, c, quads,
                  unrolled, panels, tokens, wide);
        }
        at.w += group_bytes(quads, wide);
    }
    *cursor = at;
}

INLINE void product(const uint8_t *w, const struct op_linear *op, uint32_t m, float (*y)[STRIP], const int wide,
                    const int tokens) {
    struct scratch scratch __attribute__((aligned(16)));
    const uint32_t groups = round_up(op->k, GROUP) / GROUP;
    const struct constants c = constants();
    int8_t *x = AT(int8_t *, op->x + m * op->x_stride);
    UNROLLED for (int t = 0; t < tokens; t++) {
        for (int i = 0; i < STRIP; i += 4) store(y[t] + i, splat(0));
    }
    for (uint32_t g0 = 0; g0 < groups; g0 += SEGMENT) {
        const uint32_t n = min_u32(SEGMENT, groups - g0);
        struct cursor cursor = {w + HEAD, w + HEAD + order_bytes(n)};
        if (tokens == 1) {
            UNROLLED for (uint32_t q = 0; q <= MOST; q++) add_groups(&cursor, w, op, x, g0, &scratch, c, q, 1, tokens, wide);
        } else {
            for (uint32_t q = 0; q <= MOST; q++) add_groups(&cursor, w, op, x, g0, &scratch, c, q, 0, tokens, wide);
        }
        w = cursor.w;
        UNROLLED for (int t = 0; t < tokens; t++) add_terms(y[t], scratch.terms[t][0], n);
    }
}

void DOTS(sparse_w4_sv32)(const uint8_t *strip, const struct op_linear *op, uint32_t m, uint32_t rows, float (*y)[STRIP]) {
    BY_ROWS(rows, product, strip, op, m, y, 0)
}
void DOTS(sparse_w8_sv32)(const uint8_t *strip, const struct op_linear *op, uint32_t m, uint32_t rows, float (*y)[STRIP]) {
    BY_ROWS(rows, product, strip, op, m, y, 1)
}
