/* linear_w2a8: y[m][n] = sum_k W[n][k] x[m][k] + bias[n]. 2-bit weights (-1, 0, 1; the fourth code is 2) with one scale
 * for 256 inputs of an output, 8-bit activations with one scale per row.                                       exact
 *
 *   n  output, padded to 32 by zero rows       panel p = n / 8, row i = n % 8
 *   k  input, padded to 32 by zero codes       group g = k / 32, G groups; SHARE groups share a scale
 *
 *   w     [N32/8] panels of [G / SHARE, rounded up] runs | 4 u32: f16 scale of row i, f16 scale of row i + 4 |
 *         [SHARE, or what is left of G] blocks of 4 vectors |
 *         vector j: 16 bytes [row 0..3][input 8j..8j+3], from the low bits on: rows 0-3, rows 4-7, then the same of
 *         inputs 8j+4..8j+7
 *   x     a8 row whose groups have the same scale sx: quantize.h makes it for ops with `whole`
 *
 *   y[n] = sum_r float(sum_k (code - 1) * qx) * (s * sx)      r: runs, ascending
 *
 *   s is half_unit(f16), sx is the row's scale times SCALE_UNIT. Then bias, then the old y. The -1 is applied once per
 *   run and row of x.
 *
 *   tile  as in linear-w4.c, but run by run instead of group by group: a run of one panel, then of the next. Its sums
 *         stay in registers, so there is no work between two groups.
 *         Many rows, if LAYS_NIBBLES: as in linear-many.h, with i32 sums carried from group to group */
/* forms: quads, pairs, products */
#include "linear/linear-many.h"

enum { BLOCK = 64, SCALES = 16, SHARE = 8, RUN = SCALES + SHARE * BLOCK };

INLINE uint32_t groups_of(const struct op_linear *op) { return round_up(op->k, GROUP) / GROUP; }
INLINE uint32_t panel_bytes(uint32_t G) { return G * BLOCK + round_up(G, SHARE) / SHARE * SCALES; }

/* definition: OP_LINEAR_W2A8_G256 */
void DOTS(linear_w2a8__ref)(const struct op_linear *op, uint32_t m) {
    const uint32_t G = groups_of(op);
    int8_t *x = AT(int8_t *, op->x + m * op->x_stride);
    for (uint32_t n = 0; n < round_up(op->n, 32); n++) {
        const uint32_t i = n % PANEL;
        const uint8_t *run = AT(const uint8_t *, op->w) + n / PANEL * panel_bytes(G);
        float acc = 0;
        for (uint32_t g = 0; g < G; g += SHARE, run += RUN) {
            const float s = half_unit__ref(((const uint16_t *)run)[i % 4 * 2 + i / 4]);
            int32_t dot = 0;
            for (uint32_t k = 0; k < min_u32(G - g, SHARE) * GROUP; k++) {
                const uint8_t byte = run[SCALES + k / 8 * 16 + i % 4 * 4 + k % 4];
                dot += ((byte >> (k % 8 / 4 * 4 + i / 4 * 2) & 3) - 1) * x[g * GROUP + k];
            }
            acc = acc + (float)dot * (s * (a8_scales(x, op->k)[g] * SCALE_UNIT));
        }
        write_one__ref(op, m, n, acc);
    }
}

/* acc += float(low), float(high) times the scales. */
INLINE void add_run(v128_t *acc, v128_t low, v128_t high, const uint8_t *scales, v128_t sx) {
    const v128_t s = load(scales);
    acc[0] = add(acc[0], mul(wasm_f32x4_convert_i32x4(low), mul(half_unit_low(s), sx)));
    acc[1] = add(acc[1], mul(wasm_f32x4_convert_i32x4(high), mul(half_unit_high(s), sx)));
}

/* A run of several rows, prepared for all panels: its first codes, the scales and the sums' start; and its groups,
   where preparing them pays. */
struct run {
    const int8_t *codes;
    uint32_t stride, groups;
    v128_t sx[TOKEN_TILE], start[TOKEN_TILE];
    struct activations ready[SHARE][TOKEN_TILE];
};
INLINE void prepare_run(struct run *run, int8_t *x, const struct op_linear *op, uint32_t g, const int tokens) {
    run->codes = x + g * GROUP;
    run->stride = op->x_stride;
    run->groups = min_u32(SHARE, groups_of(op) - g);
    UNROLLED for (int t = 0; t < tokens; t++) {
        int8_t *row = x + (uint32_t)t * op->x_stride;
        int32_t sum = 0;
        for (uint32_t i = 0; i < run->groups; i++) sum += a8_sums(row, op->k)[g + i];
        run->start[t] = wasm_i32x4_splat(-sum);
        run->sx[t] = splat(a8_scales(row, op->k)[g] * SCALE_UNIT);
    }
    for (uint32_t i = 0; PREPARES && i < run->groups; i++) {
        UNROLLED for (int t = 0; t < tokens; t++) prepare(&run->ready[i][t], run->codes + (uint32_t)t * run->stride + i * GROUP);
    }
}

/* acc[p][t] += a run of the panels whose scales are at w[p]. */
INLINE void add_panels(v128_t (*acc)[TOKEN_TILE][2], const uint8_t *const *w, const struct run *run, struct masks unpack,
                       const int panels, const int tokens) {
    v128_t dots[STREAMS][TOKEN_TILE][CRUMB_SUMS];
    const uint8_t *block[STREAMS];
    UNROLLED for (int p = 0; p < panels; p++) {
        block[p] = w[p] + SCALES;
        UNROLLED for (int t = 0; t < tokens; t++) {
            UNROLLED for (int i = 0; i < CRUMB_SUMS; i++) dots[p][t][i] = wasm_i32x4_splat(0);
        }
    }
    ROLLED for (uint32_t i = 0; i < run->groups; i++) {
        struct activations again[TOKEN_TILE];
        UNROLLED for (int t = 0; t < tokens && !PREPARES; t++) {
            prepare(&again[t], run->codes + (uint32_t)t * run->stride + i * GROUP);
        }
        add_crumbs(dots, block, PREPARES ? run->ready[i] : again, unpack, panels, tokens);
        UNROLLED for (int p = 0; p < panels; p++) block[p] += BLOCK;
    }
    UNROLLED for (int p = 0; p < panels; p++) {
        UNROLLED for (int t = 0; t < tokens; t++) {
            v128_t low, high;
            crumb_rows(&low, &high, dots[p][t], tokens);
            add_run(acc[p][t], wasm_i32x4_add(low, run->start[t]), wasm_i32x4_add(high, run->start[t]), w[p], run->sx[t]);
        }
    }
}

/* Rows m..m + tokens of one tile. */
INLINE void ternary_rows(const struct op_linear *op, const struct span *span, uint32_t m, const int tokens) {
    const uint32_t G = groups_of(op), bytes = panel_bytes(G);
    const struct four streams = {0, span->w.near * bytes, span->w.far * bytes};
    const uint8_t *w = AT(const uint8_t *, op->w) + span->w.first * bytes;
    int8_t *x = AT(int8_t *, op->x + m * op->x_stride);
    const struct masks unpack = masks();
    const int panels = crumb_panels(tokens);
    v128_t sums[STREAMS][TOKEN_TILE][2], (*acc)[TOKEN_TILE][2] = sums;
    IN_MEMORY(acc);
    zero_sums(acc, tokens);
    for (uint32_t g = 0; g < G; g += SHARE, w += RUN) {
        struct run run;
        prepare_run(&run, x, op, g, tokens);
        const uint8_t *at[STREAMS];
        UNROLLED for (uint32_t p = 0; p < STREAMS; p++) at[p] = w + of_stream(streams, p);
        if (tokens <= ROLLED_CRUMBS) {
            ROLLED for (int p = 0; p < STREAMS; p += panels) add_panels(acc + p, at + p, &run, unpack, panels, tokens);
        } else {
            UNROLLED for (int p = 0; p < STREAMS; p += panels) add_panels(acc + p, at + p, &run, unpack, panels, tokens);
        }
    }
    write_streams(op, span, m, acc, tokens);
}

ADD_LAID_ROWS(add_ternary_rows, add_integers)

INLINE void many_ternary_rows(const struct op_linear *op, const struct span *span) {
    const uint32_t G = groups_of(op), bytes = panel_bytes(G), count = span->m1 - span->m0, panels = STREAMS * span->width;
    const struct masks unpack = masks();
    v128_t sums[STREAMS * WIDTH][TOKEN_CHUNK][2], dots[STREAMS * WIDTH][TOKEN_CHUNK][2];
    struct token tokens[TOKEN_CHUNK];
    struct laid laid;
    zero_chunk(sums, panels, count);
    for (uint32_t g = 0; g < G; g++) {
        const uint32_t in_run = g % SHARE, run = g / SHARE * RUN;
        if (in_run == 0) zero_chunk(dots, panels, count);
        lay_tokens(tokens, op, span->m0, count, g, 1);
        for (uint32_t p = 0; p < panels; p++) {
            const uint8_t *scales = AT(const uint8_t *, op->w) + nth_of_streams(span->w, p) * bytes + run;
            lay_crumbs(laid.codes, scales + SCALES + in_run * BLOCK, unpack);
            add_ternary_rows(dots[p], &laid, tokens, count);
            if (in_run < SHARE - 1 && g < G - 1) continue;
            for (uint32_t t = 0; t < count; t++) add_run(sums[p][t], dots[p][t][0], dots[p][t][1], scales, load(&tokens[t].scale));
        }
    }
    for (uint32_t p = 0; p < panels; p++) {
        const uint32_t panel = nth_of_streams(span->w, p), y_panel = nth_of_streams(span->y, p);
        for (uint32_t t = 0; t < count; t++) write_panel(op, span->m0 + t, panel, y_panel, sums[p][t][0], sums[p][t][1]);
    }
}

linear_product DOTS(linear_w2a8_product);
void DOTS(linear_w2a8_product)(const struct op_linear *op, const struct span *span) {
    if (LAYS_NIBBLES && span->m1 - span->m0 >= MANY) return many_ternary_rows(op, span);
    if (CRUMB_TILE == TOKEN_TILE) {
        BY_TOKEN_TILES(op, span, ternary_rows)
        return;
    }
    for (uint32_t i = 0; i < span->width; i++) {
        const struct span one = side(span, i);
        uint32_t m = span->m0;
        for (; m + 2 <= span->m1; m += 2) ternary_rows(op, &one, m, 2);
        if (m < span->m1) ternary_rows(op, &one, m, 1);
    }
}

static void tile(const struct op *op, const struct step *step, uint32_t t) {
    product_tile(op, step, t, TOKEN_TILE, DOTS(linear_w2a8_product));
}

/* kernel: OP_LINEAR_W2A8_G256 linear_w2a8_g256 dots */
const struct kernel DOTS(linear_w2a8_g256) = {linear_tiles, tile};
