/* embed: y[m] = scale * table[id]. In: ids, positions or kinds, a matrix [vocab, n], rows [n]. Out: f32 rows.  exact
 *
 *   table  panels of 8 rows as in abi.h; token id is row id % 8 of panel id / 8
 *   ids    an id at or past `whole` reads the last row: nothing outside the table is ever read
 *   inputs the row itself, where the token's word has INPUT_BIT
 *   y      scale * W; lanes past n are zero
 *
 *   tile   one row. It copies about a kilobyte per token, so scalar code is fast enough, and is its own definition. */
#include "core/kernel.h"
#include "simd/simd.h"

/* Element k of row `row` (0..7) of a panel. */
INLINE float element(const uint8_t *panel, uint32_t encoding, uint32_t row, uint32_t k) {
    const uint32_t g = k / GROUP, lane = (row % 4) * 4 + k % 4, j = k % GROUP / 4, at = k * PANEL + row;
    switch (encoding) {
    case ENC_F32: return ((const float *)panel)[at];
    case ENC_F16: return half__ref(((const uint16_t *)panel)[at]);
    case ENC_BF16: return bfloat__ref(((const uint16_t *)panel)[at]);
    default: break;
    }
    const uint32_t bytes = encoding == ENC_W4_G32 ? 144 : encoding == ENC_W4M_G32 ? 160 : 272;
    const uint8_t *block = panel + g * bytes;
    /* Word i has row i in its low half and row i + 4 in its high half. */
    const uint16_t *halves = (const uint16_t *)block + (row % 4) * 2 + row / 4;
    const float s = half_unit__ref(halves[0]) * SCALE_UNIT;
    if (encoding == ENC_W8_G32) return s * (float)((int)block[16 + (2 * j + row / 4) * 16 + lane] - 128);
    const uint32_t byte = block[bytes - 128 + j * 16 + lane], code = row < 4 ? byte & 15 : byte >> 4;
    if (encoding == ENC_W4_G32) return s * (float)((int)code - 8);
    return s * (float)code + half_unit__ref(halves[8]) * SCALE_UNIT;
}

INLINE void row(const struct op_embed *op, const struct step *step, uint32_t m, uint32_t encoding) {
    const uint32_t word = AT(const uint32_t *, op->by == BY_POSITION ? step->positions : step->ids)[m];
    const uint32_t selected = op->by == BY_KIND ? word >> ID_BITS : op->by == BY_ID ? word & ((1u << ID_BITS) - 1) : word;
    const uint32_t id = min_u32(selected, op->whole - 1) - op->first;
    const uint32_t groups = round_up(op->n, GROUP) / GROUP;
    float *y = AT(float *, op->y + m * op->y_stride);
    const int brought = op->by == BY_INPUT || (op->by == BY_ID && word >> INPUT_BIT);
    if (brought && op->first == 0 && step->inputs != 0) {
        const float *x = AT(const float *, step->inputs) + m * op->n;
        for (uint32_t k = 0; k < op->n; k++) y[k] = x[k];
        for (uint32_t k = op->n; k < groups * GROUP; k++) y[k] = 0;
        return;
    }
    if (brought || id >= op->vocab) { /* also when id is less than `first`: the difference wraps */
        for (uint32_t k = 0; k < groups * GROUP; k++) y[k] = 0;
        return;
    }
    const uint32_t panel_bytes = encoding == ENC_F32      ? op->n * PANEL * 4
                                 : encoding <= ENC_BF16    ? op->n * PANEL * 2
                                 : encoding == ENC_W8_G32  ? groups * 272
                                 : encoding == ENC_W4_G32 ? groups * 144
                                                           : groups * 160;
    const uint8_t *panel = AT(const uint8_t *, op->table) + id / PANEL * panel_bytes;
    for (uint32_t k = 0; k < op->n; k++) y[k] = op->scale * element(panel, encoding, id % PANEL, k);
    for (uint32_t k = op->n; k < groups * GROUP; k++) y[k] = 0;
}

static uint32_t tiles(const struct op *o, const struct step *step) { return row_count(o, step); }

static void tile(const struct op *o, const struct step *step, uint32_t m) {
    const struct op_embed *op = (const struct op_embed *)o;
    switch (op->encoding) {
    case ENC_F32: return row(op, step, m, ENC_F32);
    case ENC_F16: return row(op, step, m, ENC_F16);
    case ENC_BF16: return row(op, step, m, ENC_BF16);
    case ENC_W8_G32: return row(op, step, m, ENC_W8_G32);
    case ENC_W4_G32: return row(op, step, m, ENC_W4_G32);
    default: return row(op, step, m, ENC_W4M_G32);
    }
}

/* kernel: OP_EMBED embed plain */
const struct kernel embed = {tiles, tile};
