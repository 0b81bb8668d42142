/* rope_kv: rotates q in place, rotates k, writes k and v to the row's KV block. In: f32 rows, the step's table.       exact
 *
 *   q     f32 [heads][head_dim]       k, v  f32 [kv_heads][head_dim]      head_dim % 4 == 0, rope_dims even
 *   rope  f32 [tokens][rope_dims/2][cosine c, sine s]
 *
 *   pair i of a head: (a, b) = (i, i + rope_dims/2) halves, (2i, 2i + 1) interleaved; dims past rope_dims stay
 *     a' = a * c + b * -s        b' = b * c + a * s
 *
 *   block of position P = positions[m]: tables[group][P / 64] of the row's sequence, position p = P % 64 in it
 *     K  f32 [kv_head][64/4][head_dim][4]   at ((h * 16 + p / 4) * head_dim + d) * 4 + p % 4
 *     V  f32 [kv_head][head_dim/4][64][4]   at ((h * head_dim / 4 + d / 4) * 64 + p) * 4 + d % 4
 *
 *   tile  one row. k is not changed where it lies: only its rotated copy in the block is. */
#include "kernel.h"
#include "simd.h"

enum { MAX_HEAD_DIM = 256 };

/* The row's K and V of one op, at the row's position. */
struct place { uint8_t *block; uint32_t p; };
static struct place place_of(const struct op_rope_kv *op, const struct step *step, uint32_t m) {
    const struct sequence *seqs = AT(const struct sequence *, step->seqs);
    const struct sequence *seq = &seqs[AT(const uint32_t *, step->sequence_of)[m]];
    const uint32_t position = AT(const uint32_t *, step->positions)[m];
    const uint32_t block = AT(const uint32_t *, seq->tables[op->group])[position / BLOCK_POSITIONS];
    return (struct place){AT(uint8_t *, block), position % BLOCK_POSITIONS};
}
static const float *angles_of(const struct op_rope_kv *op, const struct step *step, uint32_t m) {
    return op->rope_dims ? AT(const float *, step->ropes[op->rope]) + m * op->rope_dims : 0;
}

static void rotate__ref(float *y, const float *x, const float *angles, const struct op_rope_kv *op) {
    const uint32_t half = op->rope_dims / 2;
    for (uint32_t i = 0; i < half; i++) {
        const uint32_t ia = op->pairing == PAIR_HALVES ? i : 2 * i, ib = op->pairing == PAIR_HALVES ? i + half : 2 * i + 1;
        const float a = x[ia], b = x[ib], c = angles[2 * i], s = angles[2 * i + 1];
        y[ia] = a * c + b * -s;
        y[ib] = b * c + a * s;
    }
    for (uint32_t d = op->rope_dims; d < op->head_dim; d++) y[d] = x[d];
}

void rope_kv__ref(const struct op_rope_kv *op, const struct step *step, uint32_t m) {
    const float *angles = angles_of(op, step, m);
    float *q = AT(float *, op->q + m * op->q_stride);
    for (uint32_t h = 0; h < op->heads; h++) rotate__ref(q + h * op->head_dim, q + h * op->head_dim, angles, op);
    const float *k = AT(const float *, op->k + m * op->k_stride), *v = AT(const float *, op->v + m * op->v_stride);
    const struct place at = place_of(op, step, m);
    float *ks = (float *)(at.block + op->k_offset), *vs = (float *)(at.block + op->v_offset);
    for (uint32_t h = 0; h < op->kv_heads; h++) {
        float rotated[MAX_HEAD_DIM];
        rotate__ref(rotated, k + h * op->head_dim, angles, op);
        for (uint32_t d = 0; d < op->head_dim; d++) {
            ks[((h * (BLOCK_POSITIONS / 4) + at.p / 4) * op->head_dim + d) * 4 + at.p % 4] = rotated[d];
            vs[((h * op->head_dim / 4 + d / 4) * BLOCK_POSITIONS + at.p) * 4 + d % 4] = v[h * op->head_dim + d];
        }
    }
}

/* y may be x. Four pairs at a time by halves, two interleaved; the rest as in the definition. */
static void rotate(float *y, const float *x, const float *angles, const struct op_rope_kv *op) {
    const uint32_t half = op->rope_dims / 2;
    if (op->rope_dims % 4 || (op->pairing == PAIR_HALVES && half % 4)) return rotate__ref(y, x, angles, op);
    if (op->pairing == PAIR_HALVES) {
        for (uint32_t i = 0; i < half; i += 4) {
            const v128_t low = load(angles + 2 * i), high = load(angles + 2 * i + 4);
            const v128_t c = wasm_i32x4_shuffle(low, high, 0, 2, 4, 6), s = wasm_i32x4_shuffle(low, high, 1, 3, 5, 7);
            const v128_t a = load(x + i), b = load(x + half + i);
            store(y + i, add(mul(a, c), mul(b, wasm_f32x4_neg(s))));
            store(y + half + i, add(mul(b, c), mul(a, s)));
        }
    } else {
        const v128_t sign = wasm_u32x4_make(0x80000000, 0, 0x80000000, 0);
        for (uint32_t d = 0; d < op->rope_dims; d += 4) {
            const v128_t angle = load(angles + d), v = load(x + d);
            const v128_t c = wasm_i32x4_shuffle(angle, angle, 0, 0, 2, 2);
            const v128_t s = wasm_v128_xor(wasm_i32x4_shuffle(angle, angle, 1, 1, 3, 3), sign);
            store(y + d, add(mul(v, c), mul(wasm_i32x4_shuffle(v, v, 1, 0, 3, 2), s)));
        }
    }
    for (uint32_t d = op->rope_dims; d < op->head_dim; d += 4) store(y + d, load(x + d));
}

static uint32_t tiles(const struct op *o, const struct step *step) { return row_count(o, step); }

static void tile(const struct op *o, const struct step *step, uint32_t m) {
    const struct op_rope_kv *op = (const struct op_rope_kv *)o;
    const uint32_t dim = op->head_dim;
    const float *angles = angles_of(op, step, m);
    float *q = AT(float *, op->q + m * op->q_stride);
    for (uint32_t h = 0; h < op->heads; h++) rotate(q + h * dim, q + h * dim, angles, op);
    const float *k = AT(const float *, op->k + m * op->k_stride), *v = AT(const float *, op->v + m * op->v_stride);
    const struct place at = place_of(op, step, m);
    for (uint32_t h = 0; h < op->kv_heads; h++) {
        float rotated[MAX_HEAD_DIM];
        rotate(rotated, k + h * dim, angles, op);
        float *ks = (float *)(at.block + op->k_offset) + (h * (BLOCK_POSITIONS / 4) + at.p / 4) * dim * 4 + at.p % 4;
        for (uint32_t d = 0; d < dim; d++) ks[d * 4] = rotated[d];
        float *vs = (float *)(at.block + op->v_offset) + h * dim * BLOCK_POSITIONS + at.p * 4;
        for (uint32_t d = 0; d < dim; d += 4) store(vs + d * BLOCK_POSITIONS, load(v + h * dim + d));
    }
}

const struct kernel rope_kv = {tiles, tile};
