/* rope_kv: rotates q in place, rotates k, writes k and v to the row's KV block. In: f32 rows, the step's table.  exact
 *
 *   q     f32 [heads][head_dim]       k, v  f32 [kv_heads][head_dim]      head_dim % 4 == 0, rope_dims even
 *   rope  f32 [tokens][rope_dims/2][cosine c, sine s]       the rotation: rotate.h. q is rotated by the table rope_q
 *
 *   norms  with q_norm and k_norm, over n values: each head's head_dim, or with NORM_ROW all of the row's.
 *          y = ((x - mean) * r) * weight + bias, r = 1 / sqrt(sum / n + eps) with the sum of (x - mean)^2. Every sum is
 *          over 4 partial sums, number i % 4 for value i, i ascending, then sum4. mean is 0 without NORM_CENTRED; there
 *          is no bias without q_norm_bias and k_norm_bias. All heads have the same weights and biases, but with
 *          NORM_EACH each its own. NORM_LATER: after the rotation instead of before it. NORM_VALUES: each head of v is
 *          normalised too, with neither weights nor mean
 *
 *   kv_heads  0: there is neither k nor v
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
static const float *angles_of(const struct op_rope_kv *op, const struct step *step, uint32_t rope, uint32_t m) {
    return op->rope_dims ? AT(const float *, step->ropes[rope]) + m * op->rope_dims : 0;
}
static struct rotation rotation_of(const struct op_rope_kv *op) {
    return (struct rotation){op->head_dim, op->rope_dims, op->pairing};
}

static float sum__ref(const float *x, uint32_t n) {
    float part[4] = {0};
    for (uint32_t i = 0; i < n; i++) part[i % 4] += x[i];
    return sum4__ref(part);
}
static float squares__ref(const float *x, uint32_t n, float mean) {
    float part[4] = {0};
    for (uint32_t i = 0; i < n; i++) part[i % 4] += (x[i] - mean) * (x[i] - mean);
    return sum4__ref(part);
}
/* Normalises `heads` heads of a row of q or of k in place. */
static void norm_heads__ref(const struct op_rope_kv *op, float *x, uint32_t norm, uint32_t bias, uint32_t heads) {
    const uint32_t dim = op->head_dim, n = op->norm_kind & NORM_ROW ? heads * dim : dim;
    for (uint32_t from = 0; from < heads * dim; from += n) {
        const float mean = op->norm_kind & NORM_CENTRED ? sum__ref(x + from, n) / (float)n : 0;
        const float r = 1.0f / __builtin_sqrtf(squares__ref(x + from, n, mean) / (float)n + op->eps);
        const uint32_t own = op->norm_kind & NORM_EACH ? from : 0;
        for (uint32_t i = 0; i < n; i++) {
            const float y = ((x[from + i] - mean) * r) * AT(const float *, norm)[own + i];
            x[from + i] = bias ? y + AT(const float *, bias)[own + i] : y;
        }
    }
}

static void norm_value__ref(const struct op_rope_kv *op, float *y, const float *v) {
    const float r = 1.0f / __builtin_sqrtf(squares__ref(v, op->head_dim, 0) / (float)op->head_dim + op->eps);
    for (uint32_t d = 0; d < op->head_dim; d++) y[d] = v[d] * r;
}

/* definition: OP_ROPE_KV */
void rope_kv__ref(const struct op_rope_kv *op, const struct step *step, uint32_t m) {
    const uint32_t dim = op->head_dim;
    const struct rotation rotation = rotation_of(op);
    const float *angles = angles_of(op, step, op->rope, m), *q_angles = angles_of(op, step, op->rope_q, m);
    const uint32_t is_later = op->norm_kind & NORM_LATER;
    float *q = AT(float *, op->q + m * op->q_stride);
    if (op->q_norm && !is_later) norm_heads__ref(op, q, op->q_norm, op->q_norm_bias, op->heads);
    for (uint32_t h = 0; h < op->heads; h++) rotate__ref(q + h * dim, q + h * dim, q_angles, rotation);
    if (op->q_norm && is_later) norm_heads__ref(op, q, op->q_norm, op->q_norm_bias, op->heads);
    float *k = AT(float *, op->k + m * op->k_stride);
    const float *v = AT(const float *, op->v + m * op->v_stride);
    if (op->k_norm && !is_later) norm_heads__ref(op, k, op->k_norm, op->k_norm_bias, op->kv_heads);
    const struct kv_position at = kv_position_of(op, step, m);
    for (uint32_t h = 0; h < op->kv_heads; h++) {
        float rotated[MAX_HEAD_DIM];
        rotate__ref(rotated, k + h * dim, angles, rotation);
        if (op->k_norm && is_later) norm_heads__ref(op, rotated, op->k_norm, op->k_norm_bias, 1);
        for (uint32_t d = 0; op->least < op->most && d < dim; d++) rotated[d] = limited__ref(rotated[d], op->least, op->most);
        if (op->k_bias) add_still(rotated, AT(const float *, op->k_bias) + h * dim, -1, op->still, rotation);
        write_key__ref(at.block + op->k_offset + h * key_bytes(op->k_format, dim), op->k_format, dim, at.p, rotated);
        float normed[MAX_HEAD_DIM];
        const int is_normed = op->norm_kind & NORM_VALUES;
        if (is_normed) norm_value__ref(op, normed, v + h * dim);
        write_value__ref(at.block + op->v_offset + h * value_bytes(op->v_format, dim), op->v_format, dim, at.p,
                         is_normed ? normed : v + h * dim);
    }
}

static void norm_heads(const struct op_rope_kv *op, float *x, uint32_t norm, uint32_t bias, uint32_t heads) {
    const uint32_t dim = op->head_dim, n = op->norm_kind & NORM_ROW ? heads * dim : dim;
    for (uint32_t from = 0; from < heads * dim; from += n) {
        float *head = x + from;
        v128_t sum = splat(0), squares = splat(0);
        if (op->norm_kind & NORM_CENTRED)
            for (uint32_t i = 0; i < n; i += 4) sum = add(sum, load(head + i));
        const v128_t mean = splat(sum4(sum) / (float)n);
        for (uint32_t i = 0; i < n; i += 4) {
            const v128_t centred = sub(load(head + i), mean);
            squares = add(squares, mul(centred, centred));
        }
        const v128_t r = splat(1.0f / __builtin_sqrtf(sum4(squares) / (float)n + op->eps));
        const uint32_t own = op->norm_kind & NORM_EACH ? from : 0;
        const float *weight = AT(const float *, norm) + own, *added = bias ? AT(const float *, bias) + own : 0;
        for (uint32_t i = 0; i < n; i += 4) {
            const v128_t y = mul(mul(sub(load(head + i), mean), r), load(weight + i));
            store(head + i, bias ? add(y, load(added + i)) : y);
        }
    }
}

static void norm_value(const struct op_rope_kv *op, float *y, const float *v) {
    v128_t squares = splat(0);
    for (uint32_t i = 0; i < op->head_dim; i += 4) squares = add(squares, mul(load(v + i), load(v + i)));
    const v128_t r = splat(1.0f / __builtin_sqrtf(sum4(squares) / (float)op->head_dim + op->eps));
    for (uint32_t i = 0; i < op->head_dim; i += 4) store(y + i, mul(load(v + i), r));
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
    const float *angles = angles_of(op, step, op->rope, m), *q_angles = angles_of(op, step, op->rope_q, m);
    const uint32_t is_later = op->norm_kind & NORM_LATER;
    float *q = AT(float *, op->q + m * op->q_stride);
    if (op->q_norm && !is_later) norm_heads(op, q, op->q_norm, op->q_norm_bias, op->heads);
    for (uint32_t h = 0; h < op->heads; h++) rotate(q + h * dim, q + h * dim, q_angles, rotation);
    if (op->q_norm && is_later) norm_heads(op, q, op->q_norm, op->q_norm_bias, op->heads);
    float *k = AT(float *, op->k + m * op->k_stride);
    const float *v = AT(const float *, op->v + m * op->v_stride);
    if (op->k_norm && !is_later) norm_heads(op, k, op->k_norm, op->k_norm_bias, op->kv_heads);
    const struct kv_position at = kv_position_of(op, step, m);
    for (uint32_t h = 0; h < op->kv_heads; h++) {
        float rotated[MAX_HEAD_DIM];
        rotate(rotated, k + h * dim, angles, rotation);
        if (op->k_norm && is_later) norm_heads(op, rotated, op->k_norm, op->k_norm_bias, 1);
        if (op->least < op->most) limit_key(rotated, op);
        if (op->k_bias) add_still(rotated, AT(const float *, op->k_bias) + h * dim, -1, op->still, rotation);
        write_key(at.block + op->k_offset + h * key_bytes(op->k_format, dim), op->k_format, dim, at.p, rotated);
        float normed[MAX_HEAD_DIM];
        const int is_normed = op->norm_kind & NORM_VALUES;
        if (is_normed) norm_value(op, normed, v + h * dim);
        write_value(at.block + op->v_offset + h * value_bytes(op->v_format, dim), op->v_format, dim, at.p,
                    is_normed ? normed : v + h * dim);
    }
}

/* kernel: OP_ROPE_KV rope_kv plain */
const struct kernel rope_kv = {tiles, tile};
