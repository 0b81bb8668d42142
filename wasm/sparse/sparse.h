/* sparse.h: code shared by the sparse linear kernels. In: a matrix of strips. Out: the products of one strip.
 *
 *   matrix  | u32 [strips + 1] where each strip begins, and the end, from the matrix' first byte | strips |
 *   strip   the data of 32 outputs (4 panels), in the order in which the kernel reads it. The format defines the
 *           layout: sparse-sb84.c, sparse-sv32.c. Strips begin at multiples of 16 bytes
 *
 *   One strip is one stream: consecutive blocks of some groups, each with its masks, scales and values. Separate arrays
 *   of masks, scales and values were half as fast from memory. So was reading four strips far apart in turn, which is
 *   fastest for dense panels (docs/internals/sparse.md).
 *
 *   Dropped weights have the zero code (8 in w4, 128 in w8), so the products have the same bits as those of the dense
 *   kernels: the same integer sums of each group, scaled and added in the same order. */
#ifndef HALFBYTE_SPARSE_H
#define HALFBYTE_SPARSE_H
#include "linear/linear.h"
#include "rows/quantize.h"

/* STRIP: outputs of a strip. ROW_TILE: rows that are computed together. */
enum { STRIP = 32, STRIP_PANELS = STRIP / PANEL, ROW_TILE = 4 };

/* y[t] = the strip's products with row m + t of x, t < rows, without bias; 1 <= rows <= ROW_TILE. */
typedef void strip_product(const uint8_t *strip, const struct op_linear *op, uint32_t m, uint32_t rows, float (*y)[STRIP]);
strip_product DOTS(sparse_w4_sb84), DOTS(sparse_w8_sb84), DOTS(sparse_w4_sv32), DOTS(sparse_w8_sv32);
/* sp24 has one form: it uses the 16-bit half of the dot on every machine. */
strip_product sparse_w8_sp24;

/* The scalar definition of a format: codes [32][32 G] minus the zero code, scales [32][G] as f16 patterns. */
typedef void strip_codes(const uint8_t *strip, uint32_t groups, int16_t *codes, uint16_t *scales);
strip_codes DOTS(sparse_w4_sb84__ref), DOTS(sparse_w8_sb84__ref), DOTS(sparse_w4_sv32__ref), DOTS(sparse_w8_sv32__ref);
strip_codes sparse_w8_sp24__ref;

/* The scale of row i among the 16 bytes of scales of a panel. */
INLINE uint16_t scale__ref(const uint8_t *scales, uint32_t i) { return ((const uint16_t *)scales)[i % 4 * 2 + i / 4]; }
/* The code of row i and input `input`, 0 to 3, in a panel's value of 16 bytes in w4, 32 in w8. */
INLINE int16_t code__ref(const uint8_t *value, uint32_t i, uint32_t input, int wide) {
    if (wide) return (int16_t)(value[4 * i + input] - 128);
    const uint8_t byte = value[i % 4 * 4 + input];
    return (int16_t)((i < 4 ? byte & 15 : byte >> 4) - 8);
}

/* The code of a zero weight. */
INLINE int32_t zero_code(const int wide) { return wide ? 128 : 8; }

/* Constants in registers, because literals would be rebuilt at every use. half: the mask of half_constants. */
struct constants { struct masks masks; v128_t half, ones; };
INLINE struct constants constants(void) {
    return (struct constants){masks(), half_constants().mask, constant(0x00010001)};
}

/* Sums of one panel and one row of x: two vectors for rows 0-3, two for rows 4-7. A form may leave the second vector of
 * a pair alone: the quad-*.h files. */
struct sums { v128_t s[4]; };
INLINE struct sums no_sums(void) {
    const v128_t zero = wasm_i32x4_splat(0);
    return (struct sums){{zero, zero, zero, zero}};
}
/* Sums that start at minus the zero code times the sum of the kept activations. start: -8 times that sum. */
INLINE struct sums sums_from(v128_t start, const int wide) {
    if (!wide) return (struct sums){{start, start, start, start}};
    const v128_t low = low_start(start), high = high_start(start);
    return (struct sums){{low, high, low, high}};
}
/* One value of a panel times a quad of each of `tokens` rows. */
INLINE void add_value(struct sums *sums, const uint8_t *value, const struct quad *x, struct masks masks, const int tokens,
                      const int wide) {
    if (wide) {
        const struct bytes low = split_bytes(load(value), masks);
        UNROLLED for (int t = 0; t < tokens; t++) add_bytes(&sums[t].s[0], &sums[t].s[1], low, x[t]);
        const struct bytes high = split_bytes(load(value + 16), masks);
        UNROLLED for (int t = 0; t < tokens; t++) add_bytes(&sums[t].s[2], &sums[t].s[3], high, x[t]);
    } else {
        const struct nibbles w = split_nibbles(load(value), masks);
        UNROLLED for (int t = 0; t < tokens; t++) add_nibbles(&sums[t].s[0], &sums[t].s[2], w, x[t]);
    }
}
/* sums minus the zero code times the sum of the kept activations. offset: 8 times that sum. */
INLINE struct sums less(struct sums sums, v128_t offset, const int wide) {
    if (!wide) {
        UNROLLED for (int i = 0; i < 4; i++) sums.s[i] = sub_sums(sums.s[i], offset);
        return sums;
    }
    const v128_t low = low_start(offset), high = high_start(offset);
    return (struct sums){{sub_sums(sums.s[0], low), sub_sums(sums.s[1], high), sub_sums(sums.s[2], low), sub_sums(sums.s[3], high)}};
}
INLINE v128_t low_rows(struct sums sums, v128_t ones, const int wide) {
    return wide ? whole_bytes(sums.s[0], sums.s[1], ones) : whole_nibbles(sums.s[0], sums.s[1], ones);
}
INLINE v128_t high_rows(struct sums sums, v128_t ones, const int wide) {
    return wide ? whole_bytes(sums.s[2], sums.s[3], ones) : whole_nibbles(sums.s[2], sums.s[3], ones);
}

/* float(dot) * (s * sx) of the rows whose scales are in the upper halves. half: the mask of the constants. */
INLINE v128_t term_of(v128_t dot, v128_t scales, v128_t sx, v128_t half) {
    return mul(wasm_f32x4_convert_i32x4(dot), mul(wasm_v128_and(wasm_i32x4_shr(scales, 3), half), sx));
}

/* y += the terms f32 [groups][32], one group after the other. */
INLINE void add_terms(float *y, const float *terms, uint32_t groups) {
    v128_t acc[8];
    UNROLLED for (int i = 0; i < 8; i++) acc[i] = load(y + 4 * i);
    ROLLED for (; groups > 0; groups--, terms += STRIP) {
        UNROLLED for (int i = 0; i < 8; i++) acc[i] = add(acc[i], load(terms + 4 * i));
    }
    UNROLLED for (int i = 0; i < 8; i++) store(y + 4 * i, acc[i]);
}

/* The terms of a panel: of rows 0-3, of rows 4-7. */
INLINE void store_terms(float *to, v128_t low, v128_t high, v128_t scales, v128_t sx, v128_t half) {
    store(to, term_of(low, wasm_i32x4_shl(scales, 16), sx, half));
    store(to + 4, term_of(high, scales, sx, half));
}

/* Calls a function with a constant number of rows, one for each number. */
#define BY_ROWS(rows, product, ...)                             \
    switch (rows) {                                             \
    case 4: return product(__VA_ARGS__, 4);                     \
    case 3: return product(__VA_ARGS__, 3);                     \
    case 2: return product(__VA_ARGS__, 2);                     \
    default: return product(__VA_ARGS__, 1);                    \
    }

/* kept[m]: the positions of the set bits of m times 4, in bytes, ascending. */
extern const uint64_t kept[256];
#endif
