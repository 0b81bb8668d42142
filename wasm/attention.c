/* attention: y[m] = softmax(scale * q[m] K^T) V over the positions a row sees. In: f32 rows, KV blocks.
 *            Out: f32 rows and/or a8 rows.                                                                            exact
 *
 *   query   one head of one row; it sees positions [from, to): to = positions[m] + 1, from = max(0, to - window) or 0
 *   head h of `heads` reads kv head h / (heads / kv_heads); head_dim % 4 == 0, at most 256
 *   K       f32 [kv_head][64/4][head_dim][4]       V  f32 [kv_head][head_dim/4][64][4]      blocks of 64 positions
 *
 *   Blocks ascending, for each query alone, so that neither the chunk nor the neighbours change a bit:
 *     s[p]  = (sum_d K[p][d] * q[d]) * scale       d ascending; -inf outside [from, to)
 *     top'  = max(top, s[0..63])                   c = weight(top - top')
 *     w[p]  = weight(s[p] - top')                  weight(x) = e^x, and 0 below -60 (60: 2^-86, lost in any f32 sum)
 *     sum   = sum * c + (sum4 of the 16 vectors w, added in order)
 *     y[d]  = y[d] * c + w[p] * V[p][d] ...        p ascending over the visible positions
 *   and at the end y[d] * (1 / sum). Masked positions are never multiplied with V: their memory may hold anything.
 *
 *   tile    up to ROW_TILE rows of one sequence, one kv head, up to HEAD_TILE of its query heads: K and V are read
 *           once per four queries, from the first-level cache but for the first time. */
#include "kernel.h"
#include "quantize.h"

enum { ROW_TILE = 4, HEAD_TILE = 4, QUERIES = ROW_TILE * HEAD_TILE, QUAD = 4, MAX_HEAD_DIM = 256 };
#define NEGLIGIBLE -60.0f

static const uint32_t *table_of(const struct op_attention *op, const struct sequence *seq) {
    return AT(const uint32_t *, seq->tables[op->group]);
}
static uint32_t first_seen(const struct op_attention *op, uint32_t to) {
    return op->window && to > op->window ? to - op->window : 0;
}

INLINE float weight__ref(float x) { return x < NEGLIGIBLE ? 0 : exp__ref(x); }

void attention__ref(const struct op_attention *op, const struct step *step, uint32_t m) {
    const struct sequence *seqs = AT(const struct sequence *, step->seqs);
    const uint32_t *table = table_of(op, &seqs[AT(const uint32_t *, step->sequence_of)[m]]);
    const uint32_t to = AT(const uint32_t *, step->positions)[m] + 1, from = first_seen(op, to), dim = op->head_dim;
    for (uint32_t h = 0; h < op->heads; h++) {
        const uint32_t kv = h / (op->heads / op->kv_heads);
        const float *q = AT(const float *, op->q + m * op->q_stride) + h * dim;
        float y[MAX_HEAD_DIM] = {0}, top = -__builtin_inff(), sum = 0;
        for (uint32_t b = from / BLOCK_POSITIONS; b * BLOCK_POSITIONS < to; b++) {
            const float *k = AT(const float *, table[b] + op->k_offset) + kv * BLOCK_POSITIONS * dim;
            const float *v = AT(const float *, table[b] + op->v_offset) + kv * BLOCK_POSITIONS * dim;
            float s[BLOCK_POSITIONS], lanes[4] = {0}, next = top;
            for (uint32_t p = 0; p < BLOCK_POSITIONS; p++) {
                const uint32_t position = b * BLOCK_POSITIONS + p;
                float dot = 0;
                for (uint32_t d = 0; d < dim; d++) dot = dot + k[(p / 4 * dim + d) * 4 + p % 4] * q[d];
                s[p] = position >= from && position < to ? dot * op->scale : -__builtin_inff();
                next = s[p] > next ? s[p] : next;
            }
            const float c = weight__ref(top - next);
            for (uint32_t p = 0; p < BLOCK_POSITIONS; p++) {
                s[p] = weight__ref(s[p] - next);
                lanes[p % 4] = lanes[p % 4] + s[p];
            }
            sum = sum * c + sum4__ref(lanes);
            for (uint32_t d = 0; d < dim; d++) {
                y[d] = y[d] * c;
                for (uint32_t p = 0; p < BLOCK_POSITIONS; p++) {
                    const uint32_t position = b * BLOCK_POSITIONS + p;
                    if (position >= from && position < to) y[d] = y[d] + s[p] * v[(d / 4 * BLOCK_POSITIONS + p) * 4 + d % 4];
                }
            }
            top = next;
        }
        for (uint32_t d = 0; d < dim; d++) y[d] = y[d] * (1.0f / sum);
        if (op->y) __builtin_memcpy(AT(float *, op->y + m * op->y_stride) + h * dim, y, dim * 4);
        for (uint32_t g = 0; op->a8 && g < dim / GROUP; g++) {
            quantize_into__ref(AT(int8_t *, op->a8 + m * op->a8_stride), op->heads * dim, h * dim / GROUP + g, y + g * GROUP);
        }
    }
    for (uint32_t i = op->heads * dim; op->y && i < round_up(op->heads * dim, GROUP); i++) {
        AT(float *, op->y + m * op->y_stride)[i] = 0;
    }
}

/* One query of a tile. Positions from..to are absolute, low..high those of the current block. */
struct query {
    const float *q;
    uint32_t m, head, from, to, low, high;
    float top, sum;
    v128_t y[MAX_HEAD_DIM / 4];
};

/* s[i][group..] = dots of n queries with `groups` groups of 4 positions; k: those groups. */
INLINE void dots(const struct query *queries, v128_t (*s)[16], const int n, const float *k, uint32_t group, const int groups,
                 uint32_t dim) {
    v128_t dot[QUAD][4];
    UNROLLED for (int i = 0; i < n; i++) {
        UNROLLED for (int j = 0; j < groups; j++) dot[i][j] = splat(0);
    }
    const float *keys[4], *q[QUAD];
    UNROLLED for (int j = 0; j < groups; j++) keys[j] = k + (group + (uint32_t)j) * dim * 4;
    UNROLLED for (int i = 0; i < n; i++) q[i] = queries[i].q;
    for (uint32_t d = 0; d < dim; d += 4) {
        UNROLLED for (int e = 0; e < 4; e++) {
            v128_t in[4];
            UNROLLED for (int j = 0; j < groups; j++) in[j] = load(keys[j] + 4 * e);
            UNROLLED for (int i = 0; i < n; i++) {
                const v128_t x = load_splat(q[i] + e);
                UNROLLED for (int j = 0; j < groups; j++) {
                    dot[i][j] = add(dot[i][j], mul(in[j], x));
                    pin(dot[i][j]);
                }
            }
        }
        UNROLLED for (int j = 0; j < groups; j++) keys[j] += 16;
        UNROLLED for (int i = 0; i < n; i++) q[i] += 4;
    }
    UNROLLED for (int i = 0; i < n; i++) {
        UNROLLED for (int j = 0; j < groups; j++) s[i][group + (uint32_t)j] = dot[i][j];
    }
}

INLINE v128_t weight(v128_t x, const struct exp_constants *c) {
    return wasm_v128_andnot(exp4(x, c), wasm_f32x4_lt(x, splat(NEGLIGIBLE)));
}

/* Turns the dots of one query into weights, updates its sum and scales what it has gathered so far. */
static void soften(struct query *query, v128_t *s, float scale, uint32_t dim) {
    const struct exp_constants e = exp_constants();
    const v128_t least = splat(-__builtin_inff()), low = wasm_u32x4_splat(query->low), high = wasm_u32x4_splat(query->high);
    const v128_t scales = splat(scale);
    v128_t position = wasm_u32x4_make(0, 1, 2, 3), top = splat(query->top);
    for (int i = 0; i < 16; i++) {
        const v128_t seen = wasm_v128_and(wasm_i32x4_ge(position, low), wasm_i32x4_lt(position, high));
        s[i] = wasm_v128_bitselect(mul(s[i], scales), least, seen);
        top = wasm_f32x4_pmax(top, s[i]); /* passes over NaN, but weight() does not */
        position = wasm_i32x4_add(position, wasm_u32x4_splat(4));
    }
    top = wasm_f32x4_pmax(top, wasm_i32x4_shuffle(top, top, 2, 3, 0, 1));
    top = wasm_f32x4_pmax(top, wasm_i32x4_shuffle(top, top, 1, 0, 3, 2));
    const v128_t c = weight(sub(splat(query->top), top), &e);
    v128_t sum = splat(0);
    for (int i = 0; i < 16; i++) {
        s[i] = weight(sub(s[i], top), &e);
        sum = add(sum, s[i]);
    }
    query->sum = query->sum * wasm_f32x4_extract_lane(c, 0) + sum4(sum);
    query->top = wasm_f32x4_extract_lane(top, 0);
    for (uint32_t d = 0; d < dim / 4; d++) query->y[d] = mul(query->y[d], c);
}

/* y[i][j] += w[i] * v[j] for one position. */
INLINE void gather_position(v128_t (*y)[4], const float *w, const int n, const float *v, const int vectors) {
    v128_t in[4];
    UNROLLED for (int j = 0; j < vectors; j++) in[j] = load(v + j * BLOCK_POSITIONS * 4);
    UNROLLED for (int i = 0; i < n; i++) {
        const v128_t x = load_splat(w + i * BLOCK_POSITIONS);
        UNROLLED for (int j = 0; j < vectors; j++) {
            y[i][j] = add(y[i][j], mul(x, in[j]));
            pin(y[i][j]);
        }
    }
}
/* y of n queries gathers positions from..to of the block, in `vectors` vectors of dims from `d4` on. */
INLINE void gather(struct query *queries, v128_t (*s)[16], const int n, const float *v, uint32_t d4, const int vectors,
                   uint32_t from, uint32_t to) {
    v128_t y[QUAD][4];
    UNROLLED for (int i = 0; i < n; i++) {
        UNROLLED for (int j = 0; j < vectors; j++) y[i][j] = queries[i].y[d4 + (uint32_t)j];
    }
    const float *w = (const float *)s + from;
    v += (d4 * BLOCK_POSITIONS + from) * 4;
    uint32_t left = to - from;
    for (; left >= 4; left -= 4, w += 4, v += 16) {
        UNROLLED for (int e = 0; e < 4; e++) gather_position(y, w + e, n, v + 4 * e, vectors);
    }
    for (; left > 0; left--, w++, v += 4) gather_position(y, w, n, v, vectors);
    UNROLLED for (int i = 0; i < n; i++) {
        UNROLLED for (int j = 0; j < vectors; j++) queries[i].y[d4 + (uint32_t)j] = y[i][j];
    }
}
INLINE void gather_all(struct query *queries, v128_t (*s)[16], const int n, const float *v, uint32_t dim, uint32_t from, uint32_t to) {
    const int vectors = n == 1 ? 4 : 2;
    uint32_t d4 = 0;
    if (from >= to) return;
    for (; d4 + (uint32_t)vectors <= dim / 4; d4 += (uint32_t)vectors) gather(queries, s, n, v, d4, vectors, from, to);
    for (; d4 < dim / 4; d4++) gather(queries, s, n, v, d4, 1, from, to);
}
static void gather_one(struct query *query, v128_t *s, const float *v, uint32_t dim, uint32_t from, uint32_t to) {
    gather_all(query, (v128_t(*)[16])s, 1, v, dim, from, to);
}

/* One block for n queries: positions that all of them see are gathered together, the ragged ends one by one. */
INLINE void visit(struct query *queries, const int n, const float *k, const float *v, float scale, uint32_t dim) {
    const int groups = n == 1 ? 4 : 2;
    v128_t s[QUAD][16];
    uint32_t low = BLOCK_POSITIONS, high = 0, first = 0, last = BLOCK_POSITIONS;
    for (int i = 0; i < n; i++) {
        if (queries[i].low < queries[i].high) {
            low = min_u32(low, queries[i].low);
            high = max_u32(high, queries[i].high);
        }
        first = max_u32(first, queries[i].low);
        last = min_u32(last, queries[i].high);
    }
    for (uint32_t g = low / 4 / (uint32_t)groups * (uint32_t)groups; g * 4 < high; g += (uint32_t)groups) {
        dots(queries, s, n, k, g, groups, dim);
    }
    for (int i = 0; i < n; i++) {
        if (queries[i].low < queries[i].high) soften(&queries[i], s[i], scale, dim);
    }
    if (n == 1) return gather_one(queries, s[0], v, dim, queries[0].low, queries[0].high);
    if (first >= last) {
        for (int i = 0; i < n; i++) gather_one(&queries[i], s[i], v, dim, queries[i].low, queries[i].high);
        return;
    }
    for (int i = 0; i < n; i++) gather_one(&queries[i], s[i], v, dim, queries[i].low, first);
    gather_all(queries, s, n, v, dim, first, last);
    for (int i = 0; i < n; i++) gather_one(&queries[i], s[i], v, dim, last, queries[i].high);
}

static void finish(const struct op_attention *op, struct query *query) {
    const uint32_t dim = op->head_dim, n = op->heads * dim, at = query->head * dim;
    const v128_t inverse = splat(1.0f / query->sum);
    for (uint32_t d = 0; d < dim / 4; d++) query->y[d] = mul(query->y[d], inverse);
    if (op->y) {
        float *y = AT(float *, op->y + query->m * op->y_stride);
        for (uint32_t d = 0; d < dim / 4; d++) store(y + at + 4 * d, query->y[d]);
        if (query->head == op->heads - 1) {
            for (uint32_t i = n; i < round_up(n, GROUP); i++) y[i] = 0;
        }
    }
    for (uint32_t g = 0; op->a8 && g < dim / GROUP; g++) {
        quantize_into(AT(int8_t *, op->a8 + query->m * op->a8_stride), n, at / GROUP + g, query->y + g * 8);
    }
}

/* Query heads of one kv head, and the tiles they make. */
static uint32_t head_ratio(const struct op_attention *op) { return op->heads / op->kv_heads; }
static uint32_t head_tiles(const struct op_attention *op) { return (head_ratio(op) + HEAD_TILE - 1) / HEAD_TILE; }
static uint32_t row_tiles(const struct sequence *seq) { return (seq->rows + ROW_TILE - 1) / ROW_TILE; }

static uint32_t tiles(const struct op *o, const struct step *step) {
    const struct op_attention *op = (const struct op_attention *)o;
    const struct sequence *seqs = AT(const struct sequence *, step->seqs);
    uint32_t count = 0;
    for (uint32_t i = 0; i < step->sequences; i++) count += row_tiles(&seqs[i]);
    return count * op->kv_heads * head_tiles(op);
}

static void tile_attention(const struct op *o, const struct step *step, uint32_t t) {
    const struct op_attention *op = (const struct op_attention *)o;
    const uint32_t dim = op->head_dim, ratio = head_ratio(op), kv = t / head_tiles(op) % op->kv_heads;
    const uint32_t h0 = t % head_tiles(op) * HEAD_TILE, h1 = min_u32(h0 + HEAD_TILE, ratio);
    uint32_t row = t / (op->kv_heads * head_tiles(op));
    const struct sequence *seq = AT(const struct sequence *, step->seqs);
    for (; row >= row_tiles(seq); seq++) row -= row_tiles(seq);
    const uint32_t r0 = row * ROW_TILE, r1 = min_u32(r0 + ROW_TILE, seq->rows);

    struct query queries[QUERIES];
    uint32_t count = 0;
    for (uint32_t r = r0; r < r1; r++) {
        for (uint32_t h = kv * ratio + h0; h < kv * ratio + h1; h++) {
            struct query *query = &queries[count++];
            query->m = seq->row0 + r;
            query->head = h;
            query->q = AT(const float *, op->q + query->m * op->q_stride) + h * dim;
            query->to = seq->position + r + 1;
            query->from = first_seen(op, query->to);
            query->top = -__builtin_inff();
            query->sum = 0;
            for (uint32_t d = 0; d < dim / 4; d++) query->y[d] = splat(0);
        }
    }
    const uint32_t *table = table_of(op, seq);
    for (uint32_t b = queries[0].from / BLOCK_POSITIONS; b * BLOCK_POSITIONS < queries[count - 1].to; b++) {
        const float *k = AT(const float *, table[b] + op->k_offset) + kv * BLOCK_POSITIONS * dim;
        const float *v = AT(const float *, table[b] + op->v_offset) + kv * BLOCK_POSITIONS * dim;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t base = b * BLOCK_POSITIONS, from = max_u32(queries[i].from, base);
            const uint32_t to = min_u32(queries[i].to, base + BLOCK_POSITIONS);
            queries[i].low = from < to ? from - base : 0;
            queries[i].high = from < to ? to - base : 0;
        }
        for (uint32_t i = 0; i < count; i += QUAD) {
            switch (count - i) {
            case 1: visit(queries + i, 1, k, v, op->scale, dim); break;
            case 2: visit(queries + i, 2, k, v, op->scale, dim); break;
            case 3: visit(queries + i, 3, k, v, op->scale, dim); break;
            default: visit(queries + i, 4, k, v, op->scale, dim); break;
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) finish(op, &queries[i]);
}

const struct kernel attention = {tiles, tile_attention};
