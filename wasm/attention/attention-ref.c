/* attention__ref: the definition of attention.c, one row at a time, in scalars. For tests only: the engine's modules do
 * not contain it. */
#include "attention/attention.h"
#include "simd/cap.h"
#include "simd/limit.h"
#include "rows/quantize.h"

struct state { float top, weights[4], offsets[4], y[MAX_HEAD_DIM]; };

/* into = into * old + from * new. */
static void move__ref(float *into, float old, const float *from, float new, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) into[i] = into[i] * old + from[i] * new;
}
static void merge__ref(struct state *all, const struct state *segment, uint32_t dim) {
    const float top = segment->top > all->top ? segment->top : all->top;
    const float old = exp2__ref(all->top - top), new = exp2__ref(segment->top - top);
    all->top = top;
    move__ref(all->weights, old, segment->weights, new, 4);
    move__ref(all->offsets, old, segment->offsets, new, 4);
    move__ref(all->y, old, segment->y, new, dim);
}

/* Scores of a query with a block's keys. bias: those of the block's positions; 0: none. */
static void scores__ref(float *x, const struct op_attention *op, uint8_t *k, const float *q, const float *bias) {
    const uint32_t dim = op->head_dim;
    const float largest = largest_of__ref(q, dim), inverse = query_factor(largest);
    int32_t code[MAX_HEAD_DIM], codes = 0;
    for (uint32_t d = 0; d < dim; d++) {
        code[d] = (int32_t)(bits_of(q[d] * inverse + ROUNDER) - bits_of(ROUNDER));
        codes += code[d];
    }
    for (uint32_t p = 0; p < BLOCK_POSITIONS; p++) {
        float dot = 0;
        int32_t exact = 0;
        for (uint32_t d = 0; d < dim; d++) {
            const uint32_t at = key_at(op->k_format, dim, p, d);
            if (op->k_format == KV_F32) dot = dot + ((const float *)k)[at] * q[d];
            else exact += (int8_t)k[at] * code[d];
        }
        if (op->k_format == KV_F32) {
            x[p] = dot * (op->scale * LOG2_E);
        } else {
            const float affine = (float)exact * kv_scales(k, dim)[p] + kv_offsets(k, dim)[p] * (float)codes;
            x[p] = affine * (query_unit(largest) * (op->scale * LOG2_E));
        }
        if (op->cap > 0) x[p] = capped__ref(x[p], op->cap * LOG2_E);
        if (op->least < op->most) x[p] = limited__ref(x[p], op->least * LOG2_E, op->most * LOG2_E);
        if (bias) x[p] = x[p] + bias[p] * LOG2_E;
    }
}

/* Updates `state` by the positions low..high of a block. */
static void block__ref(struct state *state, const struct op_attention *op, uint8_t *k, uint8_t *v, const float *q,
                       const float *bias, uint32_t low, uint32_t high) {
    const uint32_t dim = op->head_dim;
    float x[BLOCK_POSITIONS], w[BLOCK_POSITIONS] = {0}, lanes[4] = {0}, offsets[4] = {0};
    float block = -__builtin_inff(), most = 0;
    scores__ref(x, op, k, q, bias);
    for (uint32_t p = low; p < high; p++) {
        block = x[p] > block ? x[p] : block;
        if (op->v_format == KV_INT8) most = __builtin_wasm_max_f32(most, kv_scales(v, dim)[p]);
    }
    const float top = block > state->top ? block : state->top;
    const float old = exp2__ref(state->top - top), new = exp2__ref(block - top);
    for (uint32_t p = low; p < high; p++) {
        w[p] = exp2__ref(x[p] - block);
        lanes[p % 4] = lanes[p % 4] + w[p];
        if (op->v_format == KV_INT8) offsets[p % 4] = offsets[p % 4] + w[p] * kv_offsets(v, dim)[p];
    }
    for (uint32_t d = 0; d < dim; d++) {
        int32_t exact = 0;
        state->y[d] = state->y[d] * old;
        for (uint32_t p = low; p < high; p++) {
            const uint32_t at = value_at(op->v_format, p, d);
            if (op->v_format == KV_F32) {
                state->y[d] = state->y[d] + w[p] * new * ((const float *)v)[at];
            } else if (op->v_format == KV_FP8) {
                state->y[d] = state->y[d] + w[p] * new * kv_scales(v, dim)[p] * fp8_value__ref(v[at]);
            } else {
                const float ratio = kv_scales(v, dim)[p] * weight_factor(most);
                exact += (int32_t)(bits_of(w[p] * ratio + ROUNDER) - bits_of(ROUNDER)) * (int8_t)v[at];
            }
        }
        if (op->v_format == KV_INT8) state->y[d] = state->y[d] + (float)exact * (new * weight_unit(most));
    }
    move__ref(state->weights, old, lanes, new, 4);
    move__ref(state->offsets, old, offsets, new, 4);
    state->top = top;
}

/* definition: OP_ATTENTION */
void attention__ref(const struct op_attention *op, const struct step *step, uint32_t m) {
    const struct sequence *seqs = AT(const struct sequence *, step->seqs);
    const struct sequence *seq = &seqs[AT(const uint32_t *, step->sequence_of)[m]];
    const uint32_t *table = table_of(op, seq);
    const uint32_t position = AT(const uint32_t *, step->positions)[m], last = seq->position + seq->rows - 1;
    const uint32_t from = first_seen(op, position + 1), dim = op->head_dim;
    const uint32_t after = seq->whole ? ~0u : op->after;
    const uint32_t to = after < last - position ? position + after + 1 : last + 1;
    const uint32_t length = segment_length(after ? last : position);
    for (uint32_t h = 0; h < op->heads; h++) {
        const uint32_t kv = (h + op->absent) / op->ratio;
        const float *q = AT(const float *, op->q + m * op->q_stride) + h * dim;
        struct state all;
        for (uint32_t s = from / length; s * length < to; s++) {
            struct state segment = {.top = -__builtin_inff()};
            const uint32_t first = max_u32(from, s * length), end = min_u32(to, (s + 1) * length);
            for (uint32_t base = first / BLOCK_POSITIONS * BLOCK_POSITIONS; base < end; base += BLOCK_POSITIONS) {
                const uint32_t block = table[base / BLOCK_POSITIONS];
                uint8_t *k = AT(uint8_t *, block + op->k_offset + kv * key_bytes(op->k_format, dim));
                uint8_t *v = AT(uint8_t *, block + op->v_offset + kv * value_bytes(op->v_format, dim));
                const float *bias = op->bias ? biases_of(op, h, position) + base : 0;
                block__ref(&segment, op, k, v, q, bias, max_u32(first, base) - base, min_u32(end - base, BLOCK_POSITIONS));
            }
            if (s == from / length) all = segment;
            else merge__ref(&all, &segment, dim);
        }
        float y[MAX_HEAD_DIM], inverse = 1.0f / sum4__ref(all.weights);
        if (op->sinks) {
            const float sink = AT(const float *, op->sinks)[h] * LOG2_E, top = sink > all.top ? sink : all.top;
            const float old = exp2__ref(all.top - top);
            inverse = old / (sum4__ref(all.weights) * old + exp2__ref(sink - top));
        }
        for (uint32_t d = 0; d < dim; d++) y[d] = (all.y[d] + sum4__ref(all.offsets)) * inverse;
        if (op->y) __builtin_memcpy(AT(float *, op->y + m * op->y_stride) + h * dim, y, dim * 4);
        for (uint32_t g = 0; op->a8 && g < dim / GROUP; g++) {
            quantize_into__ref(AT(int8_t *, op->a8 + m * op->a8_stride), op->heads * dim, h * dim / GROUP + g, y + g * GROUP);
        }
    }
    for (uint32_t i = op->heads * dim; op->y && i < round_up(op->heads * dim, GROUP); i++) {
        AT(float *, op->y + m * op->y_stride)[i] = 0;
    }
}
