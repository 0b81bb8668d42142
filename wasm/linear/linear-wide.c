/* linear_w4a8, linear_w4ma8, linear_w8a8 for 32 vector registers and a dot with two signed operands.           exact
 *
 *   w, x, y   as in linear-w4.c and linear-w8.c, with the same bits: the same integers, the f32 sums with g ascending
 *
 *   A tile of registers is `panels` panels times `tokens` rows: their f32 sums, the i32 sums of one group, a vector of
 *   codes of each row, a splat, the weights of one panel. 4 panels x 1 row, 2 x 2, 1 x 3 and 1 x 4 fit in 28, the
 *   number that V8 allocates. A splat is made from a lane of a loaded vector: loading a splat would also need an
 *   addition.
 *
 *   w4, w4m   low nibbles by a mask, high nibbles by a shift of bytes, which is one instruction here
 *   w8        code - 128, so a byte needs one dot: dot-relaxed.h says why that is exact
 *
 *   The scales of a group of two rows are prepared once for all panels of a tile:
 *
 *   scales    | scale of row m | of m + 1 | start of row m | of m + 1 |   start: -zero times the sum of the codes of x
 *
 *   Many rows: two panels are laid (unpacked, as in linear-many.h) a few groups at a time and multiplied by two rows at
 *   a time. The inner loop then unpacks nothing, and both panels share a splat. Between blocks of groups the f32 sums
 *   are in memory. */
/* forms: wide */
#include "linear/linear.h"
#include "rows/quantize.h"

/* The layout of weights in memory: as in the file, or laid. */
enum layout { W4, W4M, W8, LAID, LAID_M };
enum { TWO = 2, BLOCK_GROUPS = 8 };

/* A block, unpacked for the dots of all rows: vectors 2j, 2j + 1 are rows 0-3 and 4-7 of inputs 4j..4j + 3. */
struct laid { v128_t scales[2], minimums[2], codes[16]; };
/* One group of two rows. offsets: the scale times the sum of the codes of x, in lanes 0 and 1; for minimums. */
struct two_rows { v128_t scales, offsets; };

INLINE uint32_t bytes_of(const enum layout layout) {
    switch (layout) {
    case W4: return 144;
    case W4M: return 160;
    case W8: return 272;
    default: return sizeof(struct laid);
    }
}
INLINE int is_laid(const enum layout layout) { return layout == LAID || layout == LAID_M; }
INLINE int has_minimums(const enum layout layout) { return layout == W4M || layout == LAID_M; }

struct constants { v128_t low4, flip, half; };
INLINE struct constants constants(void) {
    return (struct constants){constant(0x0f0f0f0f), constant(0x80808080), half_constants().mask};
}

/* The codes of rows 0-3, then of rows 4-7, of inputs 4j..4j + 3. */
INLINE void unpack_codes(v128_t *w, const uint8_t *block, const uint32_t j, const enum layout layout, struct constants c) {
    if (layout == W4 || layout == W4M) {
        const v128_t both = load(block + bytes_of(layout) - 128 + 16 * j);
        w[0] = wasm_v128_and(both, c.low4);
        w[1] = wasm_u8x16_shr(both, 4);
    } else {
        UNROLLED for (uint32_t i = 0; i < 2; i++) {
            const v128_t codes = load(block + bytes_of(layout) - 256 + 32 * j + 16 * i);
            w[i] = is_laid(layout) ? codes : wasm_v128_xor(codes, c.flip);
        }
    }
}
/* Scales or minimums: half_units of rows 0-3, then of rows 4-7. */
INLINE void unpack_halves(v128_t *s, const uint8_t *p, const enum layout layout, struct constants c) {
    const v128_t first = load(p);
    s[0] = is_laid(layout) ? first : wasm_v128_and(wasm_i32x4_shr(wasm_i32x4_shl(first, 16), 3), c.half);
    s[1] = is_laid(layout) ? load(p + 16) : wasm_v128_and(wasm_i32x4_shr(first, 3), c.half);
}
INLINE void unpack_scales(v128_t *s, const uint8_t *block, const enum layout layout, struct constants c) {
    unpack_halves(s, block, layout, c);
}
INLINE void unpack_minimums(v128_t *s, const uint8_t *block, const enum layout layout, struct constants c) {
    unpack_halves(s, block + (is_laid(layout) ? 32 : 16), layout, c);
}

INLINE v128_t add_dot4(v128_t acc, v128_t x, v128_t w) { return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(x, w, acc); }

/* sums[p * row_of_sums + t] += `groups` groups of panel p and row t. blocks[p], x and rows point to the first group. */
typedef void add_tile(v128_t (*sums)[2], const uint8_t *const *blocks, const int8_t *x, uint32_t x_stride,
                      const struct two_rows *rows, uint32_t groups);

INLINE void add_groups(v128_t (*sums)[2], const uint8_t *const *blocks, const int8_t *x, uint32_t x_stride,
                       const struct two_rows *rows, uint32_t groups, const uint32_t row_of_sums, const int panels,
                       const int tokens, const enum layout layout) {
    const struct constants c = constants();
    v128_t acc[STREAMS][TOKEN_TILE][2];
    const uint8_t *w[STREAMS];
    UNROLLED for (int p = 0; p < panels; p++) {
        w[p] = blocks[p];
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t *from = sums[(uint32_t)p * row_of_sums + (uint32_t)t];
            UNROLLED for (int i = 0; i < 2; i++) acc[p][t][i] = load(from + i);
        }
    }
    for (; groups > 0; groups--, x += GROUP, rows += row_of_sums / TWO) {
        v128_t dots[STREAMS][TOKEN_TILE][2], codes[TOKEN_TILE], splats[TOKEN_TILE], in[2], s[2], least[2];
        v128_t scales[TOKEN_TILE / TWO];
        UNROLLED for (int t = 0; t < tokens; t++) {
            if (t % TWO == 0) scales[t / TWO] = load(&rows[t / TWO].scales);
            const v128_t start = splat_lane(scales[t / TWO], TWO + t % TWO);
            UNROLLED for (int p = 0; p < panels; p++) dots[p][t][0] = dots[p][t][1] = start;
        }
        UNROLLED for (uint32_t j = 0; j < 8; j++) {
            if (j % 4 == 0) {
                UNROLLED for (int t = 0; t < tokens; t++) codes[t] = load(x + (uint32_t)t * x_stride + 4 * j);
            }
            UNROLLED for (int p = 0; p < panels; p++) {
                unpack_codes(in, w[p], j, layout, c);
                UNROLLED for (int t = 0; t < tokens; t++) {
                    if (p == 0) splats[t] = splat_lane(codes[t], (int)(j % 4));
                    FOR_ALL(2, dots[p][t], add_dot4(dots[p][t][i], splats[t], in[i]))
                }
            }
        }
        UNROLLED for (int p = 0; p < panels; p++) {
            unpack_scales(s, w[p], layout, c);
            if (has_minimums(layout)) unpack_minimums(least, w[p], layout, c);
            UNROLLED for (int t = 0; t < tokens; t++) {
                const v128_t scale = splat_lane(scales[t / TWO], t % TWO);
                v128_t term[2];
                UNROLLED for (int i = 0; i < 2; i++) term[i] = mul(wasm_f32x4_convert_i32x4(dots[p][t][i]), mul(s[i], scale));
                if (has_minimums(layout)) {
                    const v128_t offset = splat_lane(load(&rows[t / TWO].offsets), t % TWO);
                    UNROLLED for (int i = 0; i < 2; i++) term[i] = add(term[i], mul(least[i], offset));
                }
                FOR_ALL(2, acc[p][t], add(acc[p][t][i], term[i]))
            }
            w[p] += bytes_of(layout);
        }
    }
    UNROLLED for (int p = 0; p < panels; p++) {
        UNROLLED for (int t = 0; t < tokens; t++) {
            v128_t *to = sums[(uint32_t)p * row_of_sums + (uint32_t)t];
            UNROLLED for (int i = 0; i < 2; i++) store(to + i, acc[p][t][i]);
        }
    }
}
/* Separate functions: inlined, they would spill what the callers keep in registers. */
#define ADD_TILE(name, panels, tokens, layout)                                                                         \
    static __attribute__((noinline)) void name(v128_t (*sums)[2], const uint8_t *const *blocks, const int8_t *x,       \
                                               uint32_t x_stride, const struct two_rows *rows, uint32_t groups) {      \
        add_groups(sums, blocks, x, x_stride, rows, groups, (layout) < LAID ? TOKEN_TILE : TOKEN_CHUNK, panels, tokens, layout); \
    }
#define FEW_ROWS(name, layout)                                                                                         \
    ADD_TILE(name##_1, 4, 1, layout) ADD_TILE(name##_2, 2, 2, layout) ADD_TILE(name##_3, 1, 3, layout) ADD_TILE(name##_4, 1, 4, layout)
FEW_ROWS(add_w4, W4)
FEW_ROWS(add_w4m, W4M)
FEW_ROWS(add_w8, W8)
ADD_TILE(add_laid_1, 2, 1, LAID)
ADD_TILE(add_laid_2, 2, 2, LAID)
ADD_TILE(add_laid_m_1, 2, 1, LAID_M)
ADD_TILE(add_laid_m_2, 2, 2, LAID_M)

INLINE void lay(struct laid *laid, const uint8_t *block, const enum layout layout, struct constants c) {
    unpack_scales(laid->scales, block, layout, c);
    if (has_minimums(layout)) unpack_minimums(laid->minimums, block, layout, c);
    UNROLLED for (uint32_t j = 0; j < 8; j++) unpack_codes(laid->codes + 2 * j, block, j, layout, c);
}
typedef void lay_blocks(struct laid *laid, const uint8_t *blocks, uint32_t groups);
#define LAY(name, layout)                                                                                              \
    static void name(struct laid *laid, const uint8_t *blocks, uint32_t groups) {                                      \
        const struct constants c = constants();                                                                        \
        for (uint32_t g = 0; g < groups; g++) lay(laid + g, blocks + g * bytes_of(layout), layout, c);                 \
    }
LAY(lay_w4, W4)
LAY(lay_w4m, W4M)
LAY(lay_w8, W8)

/* few, many: by number of rows, minus one. zero: the dot operand that corresponds to a code of 0 in the file. */
struct kind { uint32_t bytes; int32_t zero; int minimums; add_tile *few[TOKEN_TILE], *many[TWO]; lay_blocks *lay; };
static const struct kind w4 = {144, 8, 0, {add_w4_1, add_w4_2, add_w4_3, add_w4_4}, {add_laid_1, add_laid_2}, lay_w4};
static const struct kind w4m = {160, 0, 1, {add_w4m_1, add_w4m_2, add_w4m_3, add_w4m_4}, {add_laid_m_1, add_laid_m_2}, lay_w4m};
static const struct kind w8 = {272, 0, 0, {add_w8_1, add_w8_2, add_w8_3, add_w8_4}, {add_laid_1, add_laid_2}, lay_w8};

/* rows: [groups][`apart` pairs of rows], groups from g0 on, of `count` a8 rows from x on. */
static void prepare_rows(struct two_rows *rows, uint32_t apart, const struct op_linear *op, int8_t *x, uint32_t count,
                         uint32_t g0, uint32_t groups, const struct kind *kind) {
    const v128_t unit = constant(bits_of(SCALE_UNIT));
    for (uint32_t t = 0; t < count; t += TWO) {
        int8_t *first = x + t * op->x_stride, *second = t + 1 < count ? first + op->x_stride : first;
        const float *scales[TWO] = {a8_scales(first, op->k) + g0, a8_scales(second, op->k) + g0};
        const int32_t *sums[TWO] = {a8_sums(first, op->k) + g0, a8_sums(second, op->k) + g0};
        struct two_rows *to = rows + t / TWO;
        for (uint32_t g = 0; g < groups; g++, to += apart) {
            const v128_t scale = mul(wasm_v128_load32_lane(scales[1] + g, load_splat(scales[0] + g), 1), unit);
            const v128_t sum = wasm_v128_load32_lane(sums[1] + g, load_splat(sums[0] + g), 1);
            const v128_t start = wasm_i32x4_mul(sum, wasm_i32x4_splat(-kind->zero));
            store(&to->scales, wasm_i32x4_shuffle(scale, start, 0, 1, 4, 5));
            if (kind->minimums) store(&to->offsets, mul(scale, wasm_f32x4_convert_i32x4(sum)));
        }
    }
}

/* The address of group g in the p-th panel of a span. */
INLINE const uint8_t *blocks_of(const struct op_linear *op, const struct span *span, uint32_t p, uint32_t g, uint32_t G,
                                uint32_t bytes) {
    return AT(const uint8_t *, op->w) + (nth_of_streams(span->w, p) * G + g) * bytes;
}
INLINE void write_sums(const struct op_linear *op, const struct span *span, uint32_t p, uint32_t m, v128_t (*sums)[2],
                       uint32_t count) {
    const uint32_t panel = nth_of_streams(span->w, p), y_panel = nth_of_streams(span->y, p);
    for (uint32_t t = 0; t < count; t++) write_panel(op, m + t, panel, y_panel, sums[t][0], sums[t][1]);
}

/* Rows m..m + count of a span with one panel of each stream. */
static void few_rows_wide(const struct op_linear *op, const struct span *span, uint32_t m, uint32_t count, const struct kind *kind) {
    enum { FEW_GROUPS = 32 };
    const uint32_t G = round_up(op->k, GROUP) / GROUP, panels = count == 1 ? 4 : count == 2 ? 2 : 1;
    int8_t *x = AT(int8_t *, op->x + m * op->x_stride);
    v128_t sums[STREAMS][TOKEN_TILE][2];
    struct two_rows rows[FEW_GROUPS][TOKEN_TILE / TWO];
    for (uint32_t p = 0; p < STREAMS; p++) {
        for (uint32_t t = 0; t < count; t++) sums[p][t][0] = sums[p][t][1] = splat(0);
    }
    for (uint32_t g = 0; g < G; g += FEW_GROUPS) {
        const uint32_t groups = min_u32(FEW_GROUPS, G - g);
        prepare_rows(rows[0], TOKEN_TILE / TWO, op, x, count, g, groups, kind);
        for (uint32_t p = 0; p < STREAMS; p += panels) {
            const uint8_t *blocks[STREAMS];
            for (uint32_t i = 0; i < panels; i++) blocks[i] = blocks_of(op, span, p + i, g, G, kind->bytes);
            kind->few[count - 1](sums[p], blocks, x + g * GROUP, op->x_stride, rows[0], groups);
        }
    }
    for (uint32_t p = 0; p < STREAMS; p++) write_sums(op, span, p, m, sums[p], count);
}

static void many_rows_wide(const struct op_linear *op, const struct span *span, const struct kind *kind) {
    const uint32_t G = round_up(op->k, GROUP) / GROUP, count = span->m1 - span->m0, panels = STREAMS * span->width;
    int8_t *x = AT(int8_t *, op->x + span->m0 * op->x_stride);
    v128_t sums[STREAMS * MAX_WIDTH][TOKEN_CHUNK][2];
    struct two_rows rows[BLOCK_GROUPS][TOKEN_CHUNK / TWO];
    struct laid laid[TWO][BLOCK_GROUPS];
    const uint8_t *const blocks[TWO] = {(const uint8_t *)laid[0], (const uint8_t *)laid[1]};
    zero_chunk(sums, panels, count);
    for (uint32_t g = 0; g < G; g += BLOCK_GROUPS) {
        const uint32_t groups = min_u32(BLOCK_GROUPS, G - g);
        prepare_rows(rows[0], TOKEN_CHUNK / TWO, op, x, count, g, groups, kind);
        for (uint32_t p = 0; p < panels; p += TWO) {
            for (uint32_t i = 0; i < TWO; i++) kind->lay(laid[i], blocks_of(op, span, p + i, g, G, kind->bytes), groups);
            for (uint32_t t = 0; t < count; t += TWO) {
                add_tile *add = kind->many[t + 1 < count ? 1 : 0];
                add(&sums[p][t], blocks, x + t * op->x_stride + g * GROUP, op->x_stride, &rows[0][t / TWO], groups);
            }
        }
    }
    for (uint32_t p = 0; p < panels; p++) write_sums(op, span, p, span->m0, sums[p], count);
}

INLINE void product(const struct op_linear *op, const struct span *span, const struct kind *kind) {
    if (span->m1 - span->m0 >= MANY) return many_rows_wide(op, span, kind);
    for (uint32_t i = 0; i < span->width; i++) {
        const struct span one = side(span, i);
        for (uint32_t m = span->m0; m < span->m1; m += TOKEN_TILE) few_rows_wide(op, &one, m, min_u32(TOKEN_TILE, span->m1 - m), kind);
    }
}
#define KERNEL(name, kind)                                                                                             \
    void DOTS(name##_product)(const struct op_linear *op, const struct span *span) { product(op, span, &kind); }       \
    static void tile_##kind(const struct op *o, const struct step *step, uint32_t t) {                                 \
        const struct op_linear *op = (const struct op_linear *)o;                                                      \
        const struct span span = linear_span(op, step, t, TOKEN_TILE);                                                             \
        product(op, &span, &kind);                                                                                     \
    }                                                                                                                  \
    const struct kernel DOTS(name##_g32) = {linear_tiles, tile_##kind};
KERNEL(linear_w4a8, w4)
KERNEL(linear_w4ma8, w4m)
KERNEL(linear_w8a8, w8)
