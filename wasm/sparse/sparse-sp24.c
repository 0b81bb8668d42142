/* sparse_sp24: the products of one strip in which every output keeps at most 2 of 4 inputs.                    exact
 *
 *   strip      consecutive blocks of one group: | scales 64 | sums | panel 0 | panel 1 | panel 2 | panel 3 |
 *   scales     [panel] 16 bytes, as in w4_g32
 *   sums       of the group's weights minus the zero code, times 8: i16 [32]
 *   panel      | positions 32 | values |, byte 2 i + v of each vector belongs to kept weight v of row i
 *   positions  vector h belongs to inputs 16 h..16 h + 15; two bits of each byte say which of four inputs is kept:
 *              bits 0-1 inputs 16 h..16 h + 3, bits 2-3 the next four, ..
 *   values     vector c: inputs 4 c..4 c + 3, i8
 *
 *   One nibble of positions is the index into two tables, so each index is made only once:
 *
 *     nibble   b b a a    a: position in the first four inputs, b: in the next four
 *     tables   [x0 x1 x2 x3 x0 x1 x2 x3 x0 ..]  depends on a     [x4 x4 x4 x4 x5 x5 x5 x5 x6 ..]  depends on b
 *
 *   A kept weight of zero has the zero code and an arbitrary position. */
#include "sparse/sparse.h"

enum { SCALES = 16 * STRIP_PANELS, POSITIONS = 32, QUADS = GROUP / 4 };

enum {
    SUMS = 2 * STRIP,
    PANEL_BYTES = POSITIONS + 16 * QUADS,
    GROUP_BYTES = SCALES + SUMS + STRIP_PANELS * PANEL_BYTES
};

void sparse_w8_sp24__ref(const uint8_t *w, uint32_t groups, int16_t *codes, uint16_t *scales) {
    const uint32_t k = groups * GROUP;
    for (uint32_t i = 0; i < STRIP * k; i++) codes[i] = 0;
    for (uint32_t g = 0; g < groups; g++, w += GROUP_BYTES) {
        for (uint32_t i = 0; i < STRIP; i++) {
            const uint8_t *panel = w + SCALES + SUMS + i / PANEL * PANEL_BYTES, *values = panel + POSITIONS;
            scales[i * groups + g] = scale__ref(w + i / PANEL * 16, i % PANEL);
            for (uint32_t j = 0; j < QUADS; j++) {
                for (uint32_t v = 0; v < 2; v++) {
                    const uint32_t at = i % PANEL * 2 + v, position = panel[j / 4 * 16 + at] >> j % 4 * 2 & 3;
                    codes[i * k + g * GROUP + 4 * j + position] += (int8_t)values[j * 16 + at];
                }
            }
        }
    }
}

/* The tables of one group of one row of x, one for each four inputs 4j..4j+3. */
struct tables { struct table t[QUADS]; };
INLINE void prepare_tables(struct tables *to, const int8_t *x, struct lookup c) {
    UNROLLED for (int h = 0; h < 2; h++) {
        const v128_t q = wasm_v128_xor(load(x + 16 * h), c.flip);
        struct table *t = to->t + 4 * h;
        t[0] = make_table(wasm_i32x4_shuffle(q, q, 0, 0, 0, 0), c);
        t[1] = make_table(wasm_i8x16_shuffle(q, q, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7), c);
        t[2] = make_table(wasm_i32x4_shuffle(q, q, 2, 2, 2, 2), c);
        t[3] = make_table(wasm_i8x16_shuffle(q, q, 12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 15), c);
    }
}

/* The dots of one panel and group. */
INLINE void add_panel(struct pair_sums *sums, const uint8_t *panel, const struct tables *x, struct lookup c, const int tokens) {
    const uint8_t *values = panel + POSITIONS;
    UNROLLED for (uint32_t j = 0; j < QUADS; j += 2) {
        const v128_t positions = load(panel + j / 4 * 16);
        const v128_t index = wasm_v128_and(j % 4 ? wasm_u16x8_shr(positions, 4) : positions, c.low4);
        const v128_t first = load(values + 16 * j), second = load(values + 16 * j + 16);
        UNROLLED for (int t = 0; t < tokens; t++) {
            add_pair(&sums[t], first, x[t].t[j], index);
            add_pair(&sums[t], second, x[t].t[j + 1], index);
        }
    }
}

INLINE void product(const uint8_t *w, const struct op_linear *op, uint32_t m, float (*y)[STRIP], const int tokens) {
    const uint32_t groups = round_up(op->k, GROUP) / GROUP;
    const struct lookup c = lookup();
    const v128_t half = half_constants().mask;
    int8_t *x = AT(int8_t *, op->x + m * op->x_stride);
    v128_t acc[ROW_TILE][8];
    UNROLLED for (int t = 0; t < tokens; t++) {
        UNROLLED for (int i = 0; i < 8; i++) acc[t][i] = splat(0);
    }
    for (uint32_t g = 0; g < groups; g++, w += GROUP_BYTES) {
        struct tables tables[ROW_TILE];
        v128_t sx[ROW_TILE];
        UNROLLED for (int t = 0; t < tokens; t++) {
            int8_t *row = x + (uint32_t)t * op->x_stride;
            prepare_tables(&tables[t], row + g * GROUP, c);
            sx[t] = splat(a8_scales(row, op->k)[g] * SCALE_UNIT);
        }
        UNROLLED for (uint32_t p = 0; p < STRIP_PANELS; p++) {
            const struct pair_sums start = start_of_pairs(w + SCALES + SUMS / STRIP_PANELS * p);
            struct pair_sums sums[ROW_TILE];
            UNROLLED for (int t = 0; t < tokens; t++) sums[t] = start;
            add_panel(sums, w + SCALES + SUMS + p * PANEL_BYTES, tables, c, tokens);
            const v128_t high = load(w + 16 * p), low = wasm_i32x4_shl(high, 16);
            UNROLLED for (int t = 0; t < tokens; t++) {
                v128_t *to = acc[t] + 2 * p;
                to[0] = add(to[0], term_of(first_rows(sums[t], c), low, sx[t], half));
                to[1] = add(to[1], term_of(last_rows(sums[t], c), high, sx[t], half));
                pin(to[0]);
                pin(to[1]);
            }
        }
    }
    UNROLLED for (int t = 0; t < tokens; t++) {
        UNROLLED for (int i = 0; i < 8; i++) store(y[t] + 4 * i, acc[t][i]);
    }
}

void sparse_w8_sp24(const uint8_t *strip, const struct op_linear *op, uint32_t m, uint32_t rows, float (*y)[STRIP]) {
    BY_ROWS(rows, product, strip, op, m, y)
}
