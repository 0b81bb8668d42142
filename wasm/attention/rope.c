/* rope_kv: rotates q in place, rotates k, writes k and v to the row's KV block. In: f32 rows, the step's table.  exact
 *
 *   q     f32 [heads][head_dim]       k, v  f32 [kv_heads][head_dim]      head_dim % 4 == 0, rope_dims even
 *   rope  f32 [tokens][rope_dims/2][cosine c, sine s]       the rotation: rotate.h
 *
 *   norms  with q_norm and k_norm, over n values: each head's head_dim, or all of the row's. y = (x * r) * weight,
 *          r = 1 / sqrt(sum / n + eps), sum over 4 partial sums, number i % 4 for value i, i ascending, then sum4
 *
 *   k_bias f32 [kv_heads][head_dim]: a rotated key has it subtracted in pairs `still` and later and in unrotated dims
 *
 *   least < most: a rotated key is limited to this range (limit.h), before k_bias is subtracted
 *
 *   block of position P = positions[m]: tables[group][P / 64] of the row's sequence, position p = P % 64 in it, in the
 *   layer's formats: kv.h. Attention reads only what is stored here, even for the newest position.
 *
 *   tile  one row. k is normalised in place, but only its copy in the block is rotated. */
#include "core/kernel.h"
#include "attention/kv.h"
#include "attention/rotate.h"
#include "simd/limit.h"

/* The block and position of a row's K and V. */
struct kv_position { uint8_t *block; uint32_t p; };
static struct kv_position kv_position_of(const struct op_rope_kv *op, const struct step *step, uint32_t m) {
    const struct sequence *seqs = AT(const struct sequence *, step->seqs);
    const struct sequence *seq = &seqs[AT(const uint32_t *, step->sequence_of)[m]];
    const uint32_t position = AT(const uint32_t *, step->positions)[m];
    const uint32_t block = AT(const uint32_t *, seq->tables[op->group])[position / BLOCK_POSITIONS];
    return (struct kv_position){AT(uint8_t *, block), position % BLOCK_POSITIONS};
}
static const float *angles_of(const struct op_rope_kv *op, const struct step *step, uint32_t m) {
    return op->rope_dims ? AT(const float *, step->ropes[op->rope]) + m * op->rope_dims : 0;
}
static struct rotation rotation_of(const struct op_rope_kv *op) {
    return (struct rotation){op->head_dim, op->rope_dims, op->pairing};
}

static float inverse_rms__ref(const float *x, uint32_t n, float eps) {
    float part[4] = {0};
    for (uint32_t i = 0; i < n; i++) part[i % 4] += x[i] * x[i];
    return 1.0f / __builtin_sqrtf(sum4__ref(part) / (float)n + eps);
}
/* Normalises the heads of a row of q or of k in place. */
static void norm_heads__ref(const struct op_rope_kv *op, float *x, uint32_t norm, uint32_t heads) {
    const uint32_t dim = op->head_dim, span = op->norm_rows ? heads * dim : dim;
    for (uint32_t from = 0; from < heads * dim; from += span) {
        const float r = inverse_rms__ref(x + from, span, op->eps);
        for (uint32_t i = 0; i < span; i++) x[from + i] = (x[from + i] * r) * AT(const float *, norm)[i];
    }
}

/* definition: OP_ROPE_KV */
void rope_kv__ref(const struct op_rope_kv *op, const struct step *step, uint32_t m) {
    const uint32_t dim = op->head_dim;
    const struct rotation rotation = rotation_of(op);
    const float *angles = angles_of(op, step, m);
    float *q = AT(float *, op->q + m * op->q_stride);
    if (op->q_norm) norm_heads__ref(op, q, op->q_norm, op->heads);
    for (uint32_t h = 0; h < op->heads; h++) rotate__ref(q + h * dim, q + h * dim, angles, rotation);
    float *k = AT(float *, op->k + m * op->k_stride);
    const float *v = AT(const float *, op->v + m * op->v_stride);
    if (op->k_norm) norm_heads__ref(op, k, op->k_norm, op->kv_heads);
    const struct kv_position at = kv_position_of(op, step, m);
    for (uint32_t h = 0; h < op->kv_heads; h++) {
        float rotated[MAX_HEAD_DIM];
        rotate__ref(rotated, k + h * dim, angles, rotation);
        for (uint32_t d = 0; op->least < op->most && d < dim; d++) rotated[d] = limited__ref(rotated[d], op->least, op->most);
        if (op->k_bias) add_still(rotated, AT(const float *, op->k_bias) + h * dim, -1, op->still, rotation);
        write_key__ref(at.block + op->k_offset + h * key_bytes(op->k_format, dim), op->k_format, dim, at.p, rotated);
        write_value__ref(at.block + op->v_offset + h * value_bytes(op->v_format, dim), op->v_format, dim, at.p, v + h * dim);
    }
}

static void norm_heads(const struct op_rope_kv *op, float *x, uint32_t norm, uint32_t heads) {
    const uint32_t dim = op->head_dim, span = op->norm_rows ? heads * dim : dim;
    const float *weight = AT(const float *, norm);
    for (float *head = x; head < x + heads * dim; head += span) {
        v128_t part = splat(0);
        for (uint32_t i = 0; i < span; i += 4) part = add(part, mul(load(head + i), load(head + i)));
        const v128_t r = splat(1.0f / __builtin_sqrtf(sum4(part) / (float)span + op->eps));
        for (uint32_t i = 0; i < span; i += 4) store(head + i, mul(mul(load(head + i), r), load(weight + i)));
    }
}

static void limit_key(float *key, const struct op_rope_kv *op) {
    const v128_t least = splat(op->least), most = splat(op->most);
    for (uint32_t d = 0; d < op->head_dim; d += 4) store(key + d, limited(load(key + d), least, most));
}

static uint32_t tiles(const struct op *o, const struct step *step) { return row_count(o, step); }

static void tile(const struct op *o, const struct step *step, uint32_t m) {
    const struct op_rope_kv *op = (const struct op_rope_kv *)o;
    const uint32_t dim = op->head_dim;
    const struct rotation rotation = rotation_of(op);
    const float *angles = angles_of(op, step, m);
    float *q = AT(float *, op->q + m * op->q_stride);
    if (op->q_norm) norm_heads(op, q, op->q_norm, op->heads);
    for (uint32_t h = 0; h < op->heads; h++) rotate(q + h * dim, q + h * dim, angles, rotation);
    float *k = AT(float *, op->k + m * op->k_stride);
    const float *v = AT(const float *, op->v + m * op->v_stride);
    if (op->k_norm) norm_heads(op, k, op->k_norm, op->kv_heads);
    const struct kv_position at = kv_position_of(op, step, m);
    for (uint32_t h = 0; h < op->kv_heads; h++) {
        float rotated[MAX_HEAD_DIM];
        rotate(rotated, k + h * dim, angles, rotation);
        if (op->least < op->most) limit_key(rotated, op);
        if (op->k_bias) add_still(rotated, AT(const float *, op->k_bias) + h * dim, -1, op->still, rotation);
        write_key(at.block + op->k_offset + h * key_bytes(op->k_format, dim), op->k_format, dim, at.p, rotated);
        write_value(at.block + op->v_offset + h * value_bytes(op->v_format, dim), op->v_format, dim, at.p, v + h * dim);
    }
}

/* kernel: OP_ROPE_KV rope_kv plain */
const struct kernel rope_kv = {tiles, tile};
