/* sparse_sv32: the products of one strip of which an input's 32 weights are all kept or all dropped.                   exact
 *
 *   strip    blocks of 4 groups, the last may be shorter; a block of g groups:
 *            | masks 16 | scales 64 g | quads |
 *   masks    u32 [4]: bit i: input i of the group is kept; of groups that are not there, 0
 *   scales   [group][panel] 16 bytes, as in w4_g32
 *   quads    the block's kept inputs, four by four, the last quad filled up with zero codes: a quad may end one group
 *            and begin the next. [panel] one value: w4 16 bytes, w8 32 bytes, as the vectors of 4 inputs in a dense block
 *
 *   The kept activations of each group are laid in a row, with zeros where a quad has inputs of its neighbours:
 *
 *     inputs kept   g0: a b c d e f      g1: h i j         quads  [a b c d] [e f h i] [j . . .]
 *     activations   g0: a b c d | e f 0 0      g1: 0 0 h i | j 0 0 0 */
#include "sparse.h"

enum { BLOCK_GROUPS = 4, HEAD = 16, SCALES = 16 * STRIP_PANELS };

INLINE uint32_t value_bytes(const int wide) { return wide ? 32 : 16; }

INLINE void codes__ref(const uint8_t *w, uint32_t groups, int16_t *codes, uint16_t *scales, int wide) {
    const uint32_t k = groups * GROUP;
    for (uint32_t i = 0; i < STRIP * k; i++) codes[i] = 0;
    for (uint32_t g0 = 0; g0 < groups; g0 += BLOCK_GROUPS) {
        const uint32_t n = min_u32(BLOCK_GROUPS, groups - g0);
        const uint32_t *masks = (const uint32_t *)w;
        const uint8_t *quads = w + HEAD + SCALES * n;
        uint32_t columns = 0;
        for (uint32_t g = 0; g < n; g++) {
            for (uint32_t i = 0; i < STRIP; i++) {
                scales[i * groups + g0 + g] = scale__ref(w + HEAD + SCALES * g + i / PANEL * 16, i % PANEL);
            }
            for (uint32_t input = 0; input < GROUP; input++) {
                if (!(masks[g] >> input & 1)) continue;
                const uint8_t *quad = quads + columns / 4 * STRIP_PANELS * value_bytes(wide);
                for (uint32_t i = 0; i < STRIP; i++) {
                    codes[i * k + (g0 + g) * GROUP + input] =
                        code__ref(quad + i / PANEL * value_bytes(wide), i % PANEL, columns % 4, wide);
                }
                columns++;
            }
        }
        w = quads + (columns + 3) / 4 * STRIP_PANELS * value_bytes(wide);
    }
}
void DOTS(sparse_w4_sv32__ref)(const uint8_t *strip, uint32_t groups, int16_t *codes, uint16_t *scales) {
    codes__ref(strip, groups, codes, scales, 0);
}
void DOTS(sparse_w8_sv32__ref)(const uint8_t *strip, uint32_t groups, int16_t *codes, uint16_t *scales) {
    codes__ref(strip, groups, codes, scales, 1);
}

/* Of one block: its kept activations in quads, 9 at most for a group; the quads of group g are first[g] to first[g + 1];
 * sum: of the kept codes, times the zero code. A mask byte is stored as 8 bytes, so that 8 more are overwritten. */
struct block {
    int8_t x[ROW_TILE][BLOCK_GROUPS * 36 + 16];
    int32_t sum[ROW_TILE][BLOCK_GROUPS];
    uint32_t first[BLOCK_GROUPS + 1];
};

INLINE void gather(struct block *block, const uint32_t *masks, const int8_t *x, uint32_t stride, uint32_t n, const int tokens,
                   const int wide) {
    uint32_t columns = 0, at = 0;
    for (uint32_t g = 0; g < n; g++) {
        const uint32_t from = at + columns % 4, mask = masks[g];
        UNROLLED for (int t = 0; t < tokens; t++) {
            int8_t *to = block->x[t];
            const int8_t *codes = x + (uint32_t)t * stride + g * GROUP;
            v128_t sum = wasm_i16x8_splat(0);
            wasm_v128_store32_lane(to + at, sum, 0);
            uint32_t p = from;
            UNROLLED for (int i = 0; i < 4; i++) {
                const uint32_t byte = mask >> 8 * i & 255;
                const v128_t picked = pick(wasm_v128_load64_zero(codes + 8 * i), wasm_v128_load64_zero(&kept[byte]));
                wasm_v128_store64_lane(to + p, picked, 0);
                sum = wasm_i16x8_add(sum, wasm_i16x8_extend_low_i8x16(picked));
                p += (uint32_t)__builtin_popcount(byte);
            }
            wasm_v128_store32_lane(to + p, wasm_i32x4_splat(0), 0);
            sum = wasm_i32x4_dot_i16x8(sum, wasm_i16x8_splat(1));
            sum = wasm_i32x4_add(sum, wasm_i32x4_shuffle(sum, sum, 2, 3, 0, 1));
            block->sum[t][g] = zero_code(wide) * (wasm_i32x4_extract_lane(sum, 0) + wasm_i32x4_extract_lane(sum, 1));
        }
        block->first[g] = at;
        const uint32_t count = (uint32_t)__builtin_popcount(mask);
        if (count) at = round_up(from + count, 4);
        columns += count;
    }
    block->first[n] = at;
}

/* `panels` panels of one group, as many as the registers hold sums for. */
INLINE void group(const uint8_t *quads, const uint8_t *scales, const struct block *block, uint32_t g, const v128_t *sx,
                  float (*y)[STRIP], struct constants c, const uint32_t panels, const int tokens, const int wide) {
    struct sums sums[STRIP_PANELS][ROW_TILE];
    UNROLLED for (uint32_t p = 0; p < panels; p++) {
        UNROLLED for (int t = 0; t < tokens; t++) sums[p][t] = no_sums();
    }
    ROLLED for (uint32_t at = block->first[g]; at < block->first[g + 1]; at += 4, quads += STRIP_PANELS * value_bytes(wide)) {
        struct quad x[ROW_TILE];
        UNROLLED for (int t = 0; t < tokens; t++) x[t] = spread(load_splat(block->x[t] + at));
        UNROLLED for (uint32_t p = 0; p < panels; p++) add_value(sums[p], quads + p * value_bytes(wide), x, c.masks, tokens, wide);
    }
    UNROLLED for (uint32_t p = 0; p < panels; p++) {
        const v128_t high = load(scales + 16 * p), low = wasm_i32x4_shl(high, 16);
        UNROLLED for (int t = 0; t < tokens; t++) {
            const v128_t offset = load_splat(&block->sum[t][g]);
            float *to = y[t] + p * PANEL;
            store(to, add(load(to), term_of(wasm_i32x4_sub(low_rows(sums[p][t], c.ones, wide), offset), low, sx[t], c.half)));
            store(to + 4, add(load(to + 4), term_of(wasm_i32x4_sub(high_rows(sums[p][t], c.ones, wide), offset), high, sx[t], c.half)));
        }
    }
}

INLINE void product(const uint8_t *strip, const struct op_linear *op, uint32_t m, float (*y)[STRIP], const int wide,
                    const int tokens) {
    const uint32_t groups = round_up(op->k, GROUP) / GROUP, most = wide ? 2 : 4;
    const uint32_t panels = tokens == 1 ? most : tokens == 2 ? most / 2 : 1;
    const struct constants c = constants();
    int8_t *x = AT(int8_t *, op->x + m * op->x_stride);
    const uint8_t *w = strip;
    struct block block;
    UNROLLED for (int t = 0; t < tokens; t++) {
        for (int i = 0; i < STRIP; i += 4) store(y[t] + i, splat(0));
    }
    for (uint32_t g0 = 0; g0 < groups; g0 += BLOCK_GROUPS) {
        const uint32_t n = min_u32(BLOCK_GROUPS, groups - g0), *kept_inputs = (const uint32_t *)w;
        gather(&block, kept_inputs, x + g0 * GROUP, op->x_stride, n, tokens, wide);
        const uint8_t *scales = w + HEAD, *quads = scales + SCALES * n;
        uint32_t columns = 0;
        for (uint32_t g = 0; g < n; g++, scales += SCALES) {
            v128_t sx[ROW_TILE];
            UNROLLED for (int t = 0; t < tokens; t++) {
                sx[t] = splat(a8_scales(x + (uint32_t)t * op->x_stride, op->k)[g0 + g] * SCALE_UNIT);
            }
            const uint8_t *from = quads + columns / 4 * STRIP_PANELS * value_bytes(wide);
            columns += (uint32_t)__builtin_popcount(kept_inputs[g]);
            UNROLLED for (uint32_t p = 0; p < STRIP_PANELS; p += panels) {
                float (*to)[STRIP] = (float (*)[STRIP])(y[0] + p * PANEL);
                group(from + p * value_bytes(wide), scales + 16 * p, &block, g, sx, to, c, panels, tokens, wide);
            }
        }
        w = quads + (columns + 3) / 4 * STRIP_PANELS * value_bytes(wide);
    }
}

void DOTS(sparse_w4_sv32)(const uint8_t *strip, const struct op_linear *op, uint32_t m, uint32_t rows, float (*y)[STRIP]) {
    BY_ROWS(rows, product, strip, op, m, y, 0)
}
void DOTS(sparse_w8_sv32)(const uint8_t *strip, const struct op_linear *op, uint32_t m, uint32_t rows, float (*y)[STRIP]) {
    BY_ROWS(rows, product, strip, op, m, y, 1)
}
