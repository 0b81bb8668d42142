/* shift_kv: moves positions of one layer, as if they had been written there. In: two block tables, angles.     exact
 *
 *   from  positions [from, from + count) of the blocks from_blocks[P / 64]        to  the same from `to` on, to_blocks
 *   angles  f32 [rope_dims/2][cosine, sine] of to - from positions: rotations add up
 *
 *   K  read as f32, rotated, stored again. int8 codes are computed again, so each move of a key adds an error of up to
 *      half a step of the codes (scale / 2) to each element. Without rope_dims K is copied. Keys that are stored less
 *      their bias are rotated with it.
 *   V  copied as it is stored
 *
 *   Ascending: a position is read before a later one overwrites it, so both tables may name the same blocks when
 *   positions move down. Blocks of from_blocks that are not in to_blocks are only read.
 *
 *   tile  one KV head. */
#include "core/kernel.h"
#include "attention/kv.h"
#include "attention/rotate.h"

typedef void rotate_head(float *, const float *, const float *, struct rotation);
typedef void write_head(uint8_t *, uint32_t, uint32_t, uint32_t, const float *);

static void copy_element(uint8_t *to, const uint8_t *from, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i++) to[i] = from[i];
}
static void copy_key(uint8_t *to, uint32_t p, const uint8_t *from, uint32_t r, uint32_t format, uint32_t dim) {
    const uint32_t size = format == KV_F32 ? 4 : 1;
    for (uint32_t d = 0; d < dim; d++) {
        copy_element(to + key_at(format, dim, p, d) * size, from + key_at(format, dim, r, d) * size, size);
    }
}
static void copy_value(uint8_t *to, uint32_t p, const uint8_t *from, uint32_t r, uint32_t format, uint32_t dim) {
    const uint32_t size = format == KV_F32 ? 4 : 1;
    for (uint32_t d = 0; d < dim; d++) {
        copy_element(to + value_at(format, p, d) * size, from + value_at(format, r, d) * size, size);
    }
}
/* The words after the codes: `arrays` arrays, with one word per position each. */
static void copy_words(uint8_t *to, uint32_t p, uint8_t *from, uint32_t r, uint32_t arrays, uint32_t dim) {
    for (uint32_t i = 0; i < arrays; i++) {
        kv_scales(to, dim)[i * BLOCK_POSITIONS + p] = kv_scales(from, dim)[i * BLOCK_POSITIONS + r];
    }
}

INLINE void shift_head(const struct op_shift_kv *op, uint32_t h, rotate_head *turn, write_head *write) {
    const uint32_t dim = op->head_dim, k_format = op->k_format, v_format = op->v_format;
    const uint32_t k_at = op->k_offset + h * key_bytes(k_format, dim), v_at = op->v_offset + h * value_bytes(v_format, dim);
    const struct rotation rotation = {dim, op->rope_dims, op->pairing};
    const float *bias = op->k_bias ? AT(const float *, op->k_bias) + h * dim : 0;
    for (uint32_t i = 0; i < op->count; i++) {
        const uint32_t source = op->from + i, target = op->to + i;
        uint8_t *from = AT(uint8_t *, AT(const uint32_t *, op->from_blocks)[source / BLOCK_POSITIONS]);
        uint8_t *to = AT(uint8_t *, AT(const uint32_t *, op->to_blocks)[target / BLOCK_POSITIONS]);
        const uint32_t r = source % BLOCK_POSITIONS, p = target % BLOCK_POSITIONS;
        if (op->rope_dims) {
            float key[MAX_HEAD_DIM];
            read_key(key, from + k_at, k_format, dim, r);
            if (bias) add_still(key, bias, 1, op->still, rotation);
            turn(key, key, AT(const float *, op->angles), rotation);
            if (bias) add_still(key, bias, -1, op->still, rotation);
            write(to + k_at, k_format, dim, p, key);
        } else {
            copy_key(to + k_at, p, from + k_at, r, k_format, dim);
            copy_words(to + k_at, p, from + k_at, r, k_format == KV_INT8 ? 3 : 0, dim);
        }
        if (from == to && p == r) continue;
        copy_value(to + v_at, p, from + v_at, r, v_format, dim);
        copy_words(to + v_at, p, from + v_at, r, v_format == KV_INT8 ? 2 : v_format == KV_FP8 ? 1 : 0, dim);
    }
}

/* definition: OP_SHIFT_KV */
void shift_kv__ref(const struct op_shift_kv *op) {
    for (uint32_t h = 0; h < op->kv_heads; h++) shift_head(op, h, rotate__ref, write_key__ref);
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    (void)step;
    return ((const struct op_shift_kv *)o)->kv_heads;
}
static void tile(const struct op *o, const struct step *step, uint32_t h) {
    (void)step;
    shift_head((const struct op_shift_kv *)o, h, rotate, write_key);
}

/* kernel: OP_SHIFT_KV shift_kv plain */
const struct kernel shift_kv = {tiles, tile};
