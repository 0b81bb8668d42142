/* linear_sparse: y[m][n] = sum_k W[n][k] x[m][k] + bias[n], W in a sparse encoding.                            exact
 * linear_swiglu_sparse: q[m] = act(gate) * up as an a8 row; gate and up: such products, as in linear-swiglu.c.  exact
 *
 *   w     strips of 32 outputs: sparse.h, and one file for each format
 *   y     the same bits as the dense kernel with the same weights
 *
 *   tile  linear: one strip, up to ROW_CHUNK rows. swiglu: the strips of gate and of up for the same group of outputs,
 *         for some adjacent groups, so that gating does not stop the stream after every strip */
/* forms: quads, pairs, products */
#include "sparse/sparse.h"
#include "rows/swiglu.h"

/* By encoding, starting at the first sparse one. */
static strip_product *const products[] = {DOTS(sparse_w4_sb84), DOTS(sparse_w8_sb84), DOTS(sparse_w4_sv32),
                                          DOTS(sparse_w8_sv32), sparse_w8_sp24};

INLINE strip_product *product_of(uint32_t encoding) { return products[encoding - ENC_W4_G32_SB84]; }
INLINE const uint8_t *strip_of(uint32_t w, uint32_t strip) { return AT(const uint8_t *, w + AT(const uint32_t *, w)[strip]); }

static void weights__ref(uint32_t encoding, const uint8_t *strip, uint32_t groups, int16_t *codes, uint16_t *scales) {
    switch (encoding) {
    case ENC_W4_G32_SB84: return DOTS(sparse_w4_sb84__ref)(strip, groups, codes, scales);
    case ENC_W8_G32_SB84: return DOTS(sparse_w8_sb84__ref)(strip, groups, codes, scales);
    case ENC_W4_G32_SV32: return DOTS(sparse_w4_sv32__ref)(strip, groups, codes, scales);
    case ENC_W8_G32_SV32: return DOTS(sparse_w8_sv32__ref)(strip, groups, codes, scales);
    default: return sparse_w8_sp24__ref(strip, groups, codes, scales);
    }
}

/* In this branch, K is at most 4096. */
/* definition: OP_LINEAR_SPARSE */
void DOTS(linear_sparse__ref)(const struct op_linear_sparse *o, uint32_t m) {
    static int16_t codes[STRIP * 4096];
    static uint16_t scales[STRIP * 4096 / GROUP];
    const struct op_linear *op = (const struct op_linear *)o;
    const uint32_t groups = round_up(op->k, GROUP) / GROUP, k = groups * GROUP;
    int8_t *x = AT(int8_t *, op->x + m * op->x_stride);
    if (k > 4096) __builtin_trap();
    for (uint32_t n = 0; n < round_up(op->n, STRIP); n++) {
        const uint32_t i = n % STRIP;
        if (i == 0) weights__ref(o->encoding, strip_of(op->w, n / STRIP), groups, codes, scales);
        float acc = 0;
        for (uint32_t g = 0; g < groups; g++) {
            int32_t dot = 0;
            for (uint32_t j = g * GROUP; j < g * GROUP + GROUP; j++) dot += codes[i * k + j] * x[j];
            acc = acc + (float)dot * (half_unit__ref(scales[i * groups + g]) * (a8_scales(x, op->k)[g] * SCALE_UNIT));
        }
        write_one__ref(op, m, n, acc);
    }
}

/* Rows of one tile: few enough to keep the strip in the second-level cache, and to share the work among threads. */
enum { ROW_CHUNK = 64 };
INLINE uint32_t row_chunks(const struct op *op, const struct step *step) {
    return (row_count(op, step) + ROW_CHUNK - 1) / ROW_CHUNK;
}

static uint32_t tiles(const struct op *op, const struct step *step) {
    return row_chunks(op, step) * (round_up(((const struct op_linear *)op)->n, STRIP) / STRIP);
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    const struct op_linear *op = (const struct op_linear *)o;
    const uint32_t chunks = row_chunks(o, step), strip = t / chunks, m0 = t % chunks * ROW_CHUNK;
    const uint32_t m1 = min_u32(m0 + ROW_CHUNK, row_count(o, step));
    strip_product *product = product_of(((const struct op_linear_sparse *)o)->encoding);
    for (uint32_t m = m0; m < m1; m += ROW_TILE) {
        float y[ROW_TILE][STRIP] __attribute__((aligned(16)));
        const uint32_t rows = min_u32(ROW_TILE, m1 - m);
        product(strip_of(op->w, strip), op, m, rows, y);
        for (uint32_t r = 0; r < rows; r++) {
            for (uint32_t p = 0; p < STRIP_PANELS; p++) {
                const uint32_t panel = strip * STRIP_PANELS + p;
                write_panel(op, m + r, panel, panel, load(y[r] + p * PANEL), load(y[r] + p * PANEL + 4));
            }
        }
    }
}

/* MADE: the maximum of rows times groups that a tile computes at once. */
enum { MADE = 8, LEAST_TILES = 16 };
struct strip_tiling { uint32_t groups, side, chunks; };

INLINE struct strip_tiling strip_tiling_of(const struct op *o, const struct step *step) {
    const uint32_t groups = round_up(((const struct op_linear_swiglu *)o)->n, GROUP) / GROUP, rows = row_count(o, step);
    const uint32_t fitting = MADE / min_u32(max_u32(rows, 1), ROW_TILE);
    const uint32_t side = min_u32((groups + LEAST_TILES - 1) / LEAST_TILES, rows > ROW_TILE ? 1 : fitting);
    return (struct strip_tiling){groups, side, row_chunks(o, step)};
}

static uint32_t swiglu_tiles(const struct op *op, const struct step *step) {
    const struct strip_tiling tiling = strip_tiling_of(op, step);
    return tiling.chunks * ((tiling.groups + tiling.side - 1) / tiling.side);
}

INLINE void add_bias(float *y, uint32_t bias, uint32_t strip) {
    if (!bias) return;
    const float *from = AT(const float *, bias) + strip * STRIP;
    for (int i = 0; i < STRIP; i += 4) store(y + i, add(load(y + i), load(from + i)));
}

static void swiglu_tile(const struct op *o, const struct step *step, uint32_t t) {
    const struct op_linear_swiglu_sparse *op = (const struct op_linear_swiglu_sparse *)o;
    const struct strip_tiling tiling = strip_tiling_of(o, step);
    const uint32_t first = t / tiling.chunks * tiling.side, last = min_u32(first + tiling.side, tiling.groups);
    const uint32_t m0 = t % tiling.chunks * ROW_CHUNK, m1 = min_u32(m0 + ROW_CHUNK, row_count(o, step));
    const struct op_linear linear = {.k = op->k, .x = op->x, .x_stride = op->x_stride};
    strip_product *product = product_of(op->encoding);
    float gate[MADE][STRIP] __attribute__((aligned(16))), up[MADE][STRIP] __attribute__((aligned(16)));
    for (uint32_t m = m0; m < m1; m += ROW_TILE) {
        const uint32_t rows = min_u32(ROW_TILE, m1 - m);
        for (uint32_t g = first; g < last; g++) product(strip_of(op->w, g), &linear, m, rows, gate + (g - first) * rows);
        for (uint32_t g = first; g < last; g++) {
            product(strip_of(op->w, tiling.groups + g), &linear, m, rows, up + (g - first) * rows);
        }
        const struct exp_constants c = exp_constants();
        for (uint32_t g = first; g < last; g++) {
            for (uint32_t r = 0; r < rows; r++) {
                float *a = gate[(g - first) * rows + r], *b = up[(g - first) * rows + r];
                add_bias(a, op->bias, g);
                add_bias(b, op->bias, tiling.groups + g);
                v128_t v[8];
                gated_group(v, a, b, &c, op->activation);
                quantize_into(AT(int8_t *, op->q + (m + r) * op->q_stride), op->n, g, v);
            }
        }
    }
}

/* kernel: OP_LINEAR_SPARSE linear_sparse dots */
const struct kernel DOTS(linear_sparse) = {tiles, tile};
/* kernel: OP_LINEAR_SWIGLU_SPARSE linear_swiglu_sparse dots */
const struct kernel DOTS(linear_swiglu_sparse) = {swiglu_tiles, swiglu_tile};
