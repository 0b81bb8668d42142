/* lru: the gated linear recurrent unit of Griffin (De et al., 2024) with its gates, over a sequence's rows.    exact
 *
 *   enter[j] = sigmoid(enter_bias[j] + sum_i x[i] enter_weight[i][j])       i, j in the channel's block
 *   stay[j]  = sigmoid(stay_bias[j] + sum_i x[i] stay_weight[i][j])
 *   a        = 2^(stay decay), decay = -8 log2(e) softplus(param)           exp2.h, softplus.h
 *   h        = a h + sqrt(1 - a^2) (x enter)       without the root at position 0, whose state is zero
 *
 *   x, y          f32 rows of `channels`
 *   weights       f32 [blocks][inputs][outputs]    biases and param   f32 rows
 *   state         f32 [channels]                   in the sequence's slab: h after the last row
 *
 *   sum           one for each j, i ascending, from the bias
 *   tile          one sequence, one block, its rows in order, ROWS at a time: they share the loads of the weights */
#include "simd/exp2.h"
#include "core/kernel.h"
#include "simd/softplus.h"
#include "rows/swiglu.h"

/* Rows computed together, and vectors of channels computed together for a single row. */
enum { ROWS = 4, VECTORS = 4 };
#define DECAY -11.541560327111707f

/* definition: OP_LRU */
void lru__ref(const struct op_lru *op, const struct step *step, uint32_t s) {
    const struct sequence *sequence = sequence_at(step, s);
    float *state = AT(float *, sequence->tables[op->group] + op->state_offset);
    const uint32_t width = op->channels / op->blocks;
    for (uint32_t m = sequence->row0; m < sequence->row0 + sequence->rows; m++) {
        const float *x = AT(const float *, op->x + m * op->x_stride);
        const int begins = sequence->position + m - sequence->row0 == 0;
        for (uint32_t c = 0; c < op->channels; c++) {
            const uint32_t block = c / width * width;
            float enter = AT(const float *, op->enter_bias)[c], stay = AT(const float *, op->stay_bias)[c];
            for (uint32_t i = 0; i < width; i++) {
                const uint32_t at = (block + i) * width + c - block;
                enter += x[block + i] * AT(const float *, op->enter_weight)[at];
                stay += x[block + i] * AT(const float *, op->stay_weight)[at];
            }
            const float decay = softplus__ref(AT(const float *, op->param)[c]) * DECAY;
            const float a = exp2__ref(activated__ref(stay, ACT_SIGMOID) * decay);
            const float input = x[c] * activated__ref(enter, ACT_SIGMOID);
            state[c] = a * state[c] + input * (begins ? 1.0f : __builtin_sqrtf(1.0f - a * a));
            AT(float *, op->y + m * op->y_stride)[c] = state[c];
        }
    }
}

/* Gates of `vectors` times four channels, of `rows` rows. A chain of sums is as long as the block is wide, and a single
 * one would wait for its own results. */
INLINE void gates(v128_t (*gate)[ROWS], const float *const *x, const float *weight, const float *bias, uint32_t width,
                  const int vectors, const int rows, const struct exp_constants *e) {
    UNROLLED for (int v = 0; v < vectors; v++) {
        UNROLLED for (int r = 0; r < rows; r++) gate[v][r] = load(bias + 4 * v);
    }
    ROLLED for (uint32_t i = 0; i < width; i++, weight += width) {
        UNROLLED for (int v = 0; v < vectors; v++) {
            const v128_t w = load(weight + 4 * v);
            UNROLLED for (int r = 0; r < rows; r++) gate[v][r] = add(gate[v][r], mul(load_splat(x[r] + i), w));
        }
    }
    UNROLLED for (int v = 0; v < vectors; v++) {
        UNROLLED for (int r = 0; r < rows; r++) gate[v][r] = activated(gate[v][r], e, ACT_SIGMOID);
    }
}

/* `rows` rows of `vectors` times four channels, from the j-th of the block of `width` channels from `block` on. */
INLINE void channel_rows(const struct op_lru *op, float *h, uint32_t block, uint32_t width, uint32_t j, uint32_t m,
                         uint32_t begins, const int vectors, const int rows, const struct exp_constants *e,
                         const struct exp2_constants *e2) {
    const float *x[ROWS];
    UNROLLED for (int r = 0; r < rows; r++) x[r] = AT(const float *, op->x + (m + (uint32_t)r) * op->x_stride) + block;
    v128_t enter[VECTORS][ROWS], stay[VECTORS][ROWS];
    const uint32_t c = block + j, at = block * width + j;
    gates(enter, x, AT(const float *, op->enter_weight) + at, AT(const float *, op->enter_bias) + c, width, vectors, rows, e);
    gates(stay, x, AT(const float *, op->stay_weight) + at, AT(const float *, op->stay_bias) + c, width, vectors, rows, e);
    UNROLLED for (int v = 0; v < vectors; v++) {
        float *state = h + c + 4 * v;
        const v128_t decay = mul(softplus(load(AT(const float *, op->param) + c + 4 * v), e), splat(DECAY));
        v128_t now = load(state);
        UNROLLED for (int r = 0; r < rows; r++) {
            v128_t a = mul(stay[v][r], decay);
            exp2_vectors(&a, 1, e2);
            const v128_t root = wasm_f32x4_sqrt(sub(splat(1), mul(a, a)));
            const v128_t share = begins == m + (uint32_t)r ? splat(1) : root;
            now = add(mul(a, now), mul(mul(load(x[r] + j + 4 * v), enter[v][r]), share));
            store(AT(float *, op->y + (m + (uint32_t)r) * op->y_stride) + c + 4 * v, now);
        }
        store(state, now);
    }
}

/* `rows` rows of the block of `width` channels from `block` on. */
INLINE void block_rows(const struct op_lru *op, float *h, uint32_t block, uint32_t width, uint32_t m, uint32_t begins,
                       const int rows, const struct exp_constants *e, const struct exp2_constants *e2) {
    const uint32_t wide = rows == 1 ? width / (4 * VECTORS) * (4 * VECTORS) : 0;
    ROLLED for (uint32_t j = 0; j < wide; j += 4 * VECTORS) {
        channel_rows(op, h, block, width, j, m, begins, VECTORS, rows, e, e2);
    }
    ROLLED for (uint32_t j = wide; j < width; j += 4) channel_rows(op, h, block, width, j, m, begins, 1, rows, e, e2);
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    return step->sequences * ((const struct op_lru *)o)->blocks;
}

static void tile(const struct op *o, const struct step *step, uint32_t t) {
    const struct op_lru *op = (const struct op_lru *)o;
    const struct sequence *sequence = sequence_at(step, t % step->sequences);
    const uint32_t width = op->channels / op->blocks, block = t / step->sequences * width;
    const uint32_t end = sequence->row0 + sequence->rows;
    /* The row at position 0; none if the sequence has older rows. */
    const uint32_t begins = sequence->position == 0 ? sequence->row0 : end;
    float *h = AT(float *, sequence->tables[op->group] + op->state_offset);
    const struct exp_constants e = exp_constants();
    const struct exp2_constants e2 = exp2_constants();
    uint32_t m = sequence->row0;
    ROLLED for (; m + ROWS <= end; m += ROWS) block_rows(op, h, block, width, m, begins, ROWS, &e, &e2);
    ROLLED for (; m < end; m++) block_rows(op, h, block, width, m, begins, 1, &e, &e2);
}

/* kernel: OP_LRU lru plain */
const struct kernel lru = {tiles, tile};
