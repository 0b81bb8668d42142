/* attention: y[m] = softmax(scale * q[m] K^T) V over the positions a row sees. In: f32 rows, KV blocks.
 *            Out: f32 rows and/or a8 rows.                                                                     exact
 *
 *   query   one head of one row; it sees positions [from, to): from = max(0, positions[m] + 1 - window) or 0,
 *           to = positions[m] + 1 + after, but not past the sequence's last row in the step
 *           a sequence that is `whole` in the step: as with the largest `after`
 *   head h of `heads` reads KV head (h + absent) / ratio; head_dim % 4 == 0, at most 512
 *   K, V    as they are stored, also at the row's own position: kv.h, abi.h
 *
 *   Scores are in units of log 2. Queries are independent: neither the chunk nor its neighbours change a bit.
 *     K f32    x[p] = (sum_d K[p][d] * q[d]) * (scale * log2 e)                          d ascending
 *     K int8   c[d] = nearest(q[d] * 8191 / max|q|)                                      14 bits: the dot is exact
 *              x[p] = ((sum_d K[p][d] * c[d]) * k_scale[p] + k_offset[p] * sum_d c[d])
 *                     * (max|q| / 8191 * scale * log2 e)
 *   With a cap, x[p] becomes the soft cap (cap.h) of x[p] and cap * log2 e. With least < most, x[p] is then limited to
 *   least * log2 e .. most * log2 e (limit.h). With a bias, bias[h][reach + p - positions[m]] * log2 e is then added.
 *   Blocks of a segment, ascending; top is the running max of the softmax:
 *     top'  = max(top, block), block = max x[p]        old = 2^(top - top')        new = 2^(block - top')
 *     w[p]  = 2^(x[p] - block), 0 where p is not seen                                    2^: exp2.h
 *     sum[l] = sum[l] * old + (w[l] + w[l + 4] ...) * new                                lanes l = p % 4
 *     V f32    y[d] = y[d] * old + (w[p] * new) * V[p][d] ...                            p ascending over the seen
 *     V fp8    y[d] = y[d] * old + ((w[p] * new) * v_scale[p]) * V[p][d] ...             the same
 *     V int8   u[p] = nearest(w[p] * (v_scale[p] * (16383 / most)))                      most: the largest seen v_scale
 *              y[d] = y[d] * old + (sum_p u[p] * V[p][d]) * (new * (most / 16383))       the sum is exact
 *              offset[l] = offset[l] * old + (w[l] * v_offset[l] + w[l + 4] * v_offset[l + 4] ...) * new
 *   Segments, ascending: 4 blocks each, or the smallest larger power of two with which 16 segments reach the row's
 *   position (with `after`: the sequence's last). `all` starts as the first segment. Each later segment is merged:
 *   `all` times 2^(all_top - top'), the segment times 2^(top - top').
 *   Then (y[d] + sum4(offset)) * (1 / sum4(sum)). With sinks, the sink times log2 e counts as a last block without
 *   values: (y[d] + sum4(offset)) * (old / (sum4(sum) * old + new)). Values that are not seen are never multiplied as
 *   floats: their memory may hold anything.
 *
 *   tile    rows of one sequence whose positions are in the same run of rows_per_tile, up to 8 query heads of one KV
 *           head, or 4 of more than 256 dims. In small steps, one tile per segment; `attention_merge` then combines the
 *           segments' parts of the result. */
/* forms: quads, pairs, products */
#include "attention/attention.h"
#include "attention/attention-block.h"
#include "rows/quantize.h"

/* The factor that a query's sums are multiplied by at the end. */
static float inverse_of(const struct op_attention *op, const struct query *query) {
    const float sum = sum4(query->all.weights);
    if (!op->sinks) return 1.0f / sum;
    const struct exp2_constants exp2 = exp2_constants();
    v128_t top = query->all.top;
    const struct factors by = rescale(&top, splat(AT(const float *, op->sinks)[query->head] * LOG2_E), &exp2);
    const float kept = wasm_f32x4_extract_lane(by.kept, 0);
    return kept / (sum * kept + wasm_f32x4_extract_lane(by.taken, 0));
}

static void put_query(const struct op_attention *op, const struct query *query, const v128_t *y) {
    const uint32_t dim = op->head_dim, n = op->heads * dim, at = query->head * dim;
    const v128_t inverse = splat(inverse_of(op, query)), offset = splat(sum4(query->all.offsets));
    v128_t out[MAX_HEAD_DIM / 4];
    for (uint32_t d = 0; d < dim / 4; d++) out[d] = mul(add(y[d], offset), inverse);
    if (op->y) {
        float *row = AT(float *, op->y + query->m * op->y_stride);
        for (uint32_t d = 0; d < dim / 4; d++) store(row + at + 4 * d, out[d]);
        if (query->head == op->heads - 1) {
            for (uint32_t i = n; i < round_up(n, GROUP); i++) row[i] = 0;
        }
    }
    for (uint32_t g = 0; op->a8 && g < dim / GROUP; g++) {
        quantize_into(AT(int8_t *, op->a8 + query->m * op->a8_stride), n, at / GROUP + g, out + g * 8);
    }
}

/* The number of tiles for the query heads of one KV head, and the heads of a tile. */
static uint32_t head_tiles(const struct op_attention *op) {
    const uint32_t most = min_u32(HEAD_TILE, MAX_TILE_FLOATS / op->head_dim);
    return (op->ratio + most - 1) / most;
}
static uint32_t heads_per_tile(const struct op_attention *op) {
    return (op->ratio + head_tiles(op) - 1) / head_tiles(op);
}
/* The heads of [from, to) that are present. from and to also count the absent heads of the first KV head. */
static struct range heads_here(const struct op_attention *op, uint32_t from, uint32_t to) {
    const uint32_t first = max_u32(from, op->absent) - op->absent, end = max_u32(to, op->absent) - op->absent;
    return (struct range){first, min_u32(end, op->heads)};
}
/* A power of two up to 16. A run never crosses a block boundary, so all its rows have the same segment length. */
static uint32_t rows_per_tile(const struct op_attention *op) {
    const uint32_t heads = heads_per_tile(op), most = min_u32(MAX_QUERIES, MAX_TILE_FLOATS / op->head_dim);
    uint32_t rows = 1;
    while (rows < 16 && 2 * rows * heads <= most) rows *= 2;
    return rows;
}
/* Larger steps have enough tiles without splitting, and their parts would not fit in `parts`. Rows that see later rows
   only see rows of this step, and a small step has few. `tile_merge` relies on no row seeing later ones. */
static int is_split(const struct op_attention *op, const struct step *step) {
    if (!op->parts || op->after || step->tokens > SPLIT_ROWS) return 0;
    for (uint32_t i = 0; i < step->sequences; i++) {
        if (AT(const struct sequence *, step->seqs)[i].whole) return 0;
    }
    return 1;
}

/* The runs of rows of a sequence, and the segments that run `run` has a tile for. */
static uint32_t runs_of(const struct sequence *seq, uint32_t rows) {
    return seq->rows ? (seq->position + seq->rows - 1) / rows - seq->position / rows + 1 : 0;
}
struct run { uint32_t first, last, seen, length, segment0, segments; }; /* seen: the last position that a row sees */
static struct run run_of(const struct op_attention *op, const struct sequence *seq, uint32_t rows, uint32_t run) {
    const uint32_t from = (seq->position / rows + run) * rows, end = seq->position + seq->rows;
    const uint32_t first = max_u32(from, seq->position), last = min_u32(from + rows, end) - 1;
    const uint32_t seen = seen_end(op, seq, last) - 1, length = segment_length(seen_after(op, seq) ? end - 1 : last);
    const uint32_t segment0 = first_seen(op, first + 1) / length;
    return (struct run){first, last, seen, length, segment0, seen / length - segment0 + 1};
}

static uint32_t tiles(const struct op *o, const struct step *step) {
    const struct op_attention *op = (const struct op_attention *)o;
    const struct sequence *seqs = AT(const struct sequence *, step->seqs);
    const uint32_t rows = rows_per_tile(op);
    uint32_t count = 0;
    for (uint32_t i = 0; i < step->sequences; i++) {
        const uint32_t runs = runs_of(&seqs[i], rows);
        for (uint32_t r = 0; r < runs; r++) count += is_split(op, step) ? run_of(op, &seqs[i], rows, r).segments : 1;
    }
    return count * op->kv_heads * head_tiles(op);
}

static void begin_segment(struct tile *tile) {
    for (uint32_t i = 0; i < tile->count; i++) {
        tile->queries[i].segment = (struct sums){splat(0), splat(0), splat(0)};
        tile->top[i] = -__builtin_inff();
    }
    for (uint32_t d = 0; d < tile->count * tile->dim / 4; d++) tile->y[d] = splat(0);
}

/* Reads every cache line of `bytes`. The empty asm keeps LLVM from combining the words of four lines into vectors. */
INLINE void read_lines(const uint8_t *at, uint32_t bytes) {
    ROLLED for (uint32_t i = 0; i < bytes; i += 64) {
        uint32_t word = *(const uint32_t *)(at + i);
        __asm__ volatile("" : "+r"(word));
    }
}
/* Prefetches the codes of `heads` KV heads, starting at `kv`, of an upcoming block. Inside the sums, each read would
   wait for memory separately. Floats have streams long enough for prefetchers. */
static void read_ahead(const struct op_attention *op, uint32_t block, uint32_t kv, uint32_t heads) {
    const uint32_t k_bytes = key_bytes(op->k_format, op->head_dim), v_bytes = value_bytes(op->v_format, op->head_dim);
    if (op->k_format != KV_F32) read_lines(AT(const uint8_t *, block + op->k_offset + kv * k_bytes), heads * k_bytes);
    if (op->v_format != KV_F32) read_lines(AT(const uint8_t *, block + op->v_offset + kv * v_bytes), heads * v_bytes);
}
/* KV heads, starting with its own, that a tile prefetches for. The heads of a block are adjacent and load faster
 * together, so a tile also prefetches for the next heads, as many as stay in the second-level cache for a segment.
 * Tiles of a single segment run on different threads, and those of the whole context reach the next head too late. */
static uint32_t heads_ahead(const struct op_attention *op, uint32_t kv, const struct run *run, int split) {
    const uint32_t bytes = key_bytes(op->k_format, op->head_dim) + value_bytes(op->v_format, op->head_dim);
    const uint32_t most = max_u32(AHEAD_BYTES / (run->length / BLOCK_POSITIONS * bytes), 1);
    if (!split || run->segments == 1) return 1;
    return kv % most == 0 ? min_u32(most, op->kv_heads - kv) : 0;
}

/* Blocks [b0, b1): those visible to some query. */
static void visit_blocks(struct tile *tile, const uint32_t *table, uint32_t kv, uint32_t b0, uint32_t b1) {
    const struct op_attention *op = tile->op;
    const uint32_t k_bytes = key_bytes(op->k_format, tile->dim), v_bytes = value_bytes(op->v_format, tile->dim);
    const uint32_t k_at = op->k_offset + kv * k_bytes, v_at = op->v_offset + kv * v_bytes;
    for (uint32_t b = b0; b < b1; b++) {
        const uint32_t base = b * BLOCK_POSITIONS;
        for (uint32_t i = 0; i < tile->count; i++) {
            struct query *query = &tile->queries[i];
            const uint32_t from = max_u32(query->from, base), to = min_u32(query->to, base + BLOCK_POSITIONS);
            query->low = from < to ? from - base : 0;
            query->high = from < to ? to - base : 0;
        }
        tile->base = base;
        tile->k = AT(uint8_t *, table[b] + k_at);
        tile->v = AT(uint8_t *, table[b] + v_at);
        if (tile->count <= HEAD_TILE && b < tile->last_block) read_ahead(op, table[b + 1], kv, tile->heads_ahead);
        const struct range groups = seen_groups(tile);
        score_block(tile, groups);
        softmax_block(tile);
        accumulate_block(tile, groups);
    }
}

/* Merges the segment into the sums of earlier segments. */
static void merge_segment(struct query *query, v128_t *all, const v128_t *y, uint32_t dim, int is_first) {
    if (is_first) {
        query->all = query->segment;
        for (uint32_t d = 0; d < dim / 4; d++) all[d] = y[d];
        return;
    }
    const struct exp2_constants exp2 = exp2_constants();
    const struct factors by = rescale(&query->all.top, query->segment.top, &exp2);
    query->all.weights = add(mul(query->all.weights, by.kept), mul(query->segment.weights, by.taken));
    query->all.offsets = add(mul(query->all.offsets, by.kept), mul(query->segment.offsets, by.taken));
    for (uint32_t d = 0; d < dim / 4; d++) all[d] = add(mul(all[d], by.kept), mul(y[d], by.taken));
}

/* Where one tile of a split step stores its result for one query and segment. */
static v128_t *part_of(const struct op_attention *op, uint32_t m, uint32_t head, uint32_t segment) {
    const uint32_t vectors = PART_SUMS / 4 + op->head_dim / 4;
    return AT(v128_t *, op->parts) + ((m * op->heads + head) * MAX_SEGMENTS + segment) * vectors;
}

static void init_tile(struct tile *tile, const struct op_attention *op, const struct sequence *seq, struct run run, uint32_t h0,
                      uint32_t h1) {
    tile->op = op;
    tile->dim = op->head_dim;
    tile->count = 0;
    for (uint32_t position = run.first; position <= run.last; position++) {
        for (uint32_t h = h0; h < h1; h++) {
            struct query *query = &tile->queries[tile->count];
            query->m = seq->row0 + position - seq->position;
            query->head = h;
            query->q = AT(const float *, op->q + query->m * op->q_stride) + h * op->head_dim;
            query->to = seen_end(op, seq, position);
            query->from = first_seen(op, position + 1);
            query->bias = op->bias ? biases_of(op, h, position) : 0;
            if (op->k_format == KV_INT8) put_query_codes(tile, tile->count);
            tile->count++;
        }
    }
}

static void tile_attention(const struct op *o, const struct step *step, uint32_t t) {
    const struct op_attention *op = (const struct op_attention *)o;
    const uint32_t groups = op->kv_heads * head_tiles(op), rows = rows_per_tile(op);
    const int split = is_split(op, step);
    const struct sequence *seq = AT(const struct sequence *, step->seqs);
    uint32_t left = t / groups, r = 0;
    struct run run;
    for (;; r++) {
        for (; r >= runs_of(seq, rows); seq++) r = 0;
        run = run_of(op, seq, rows, r);
        const uint32_t count = split ? run.segments : 1;
        if (left < count) break;
        left -= count;
    }
    const uint32_t kv = t % groups / head_tiles(op), h0 = kv * op->ratio + t % head_tiles(op) * heads_per_tile(op);
    const struct range heads = heads_here(op, h0, min_u32(h0 + heads_per_tile(op), (kv + 1) * op->ratio));
    if (heads.from >= heads.to) return;

    struct tile tile;
    init_tile(&tile, op, seq, run, heads.from, heads.to);
    tile.last_block = run.seen / BLOCK_POSITIONS;
    tile.heads_ahead = heads_ahead(op, kv, &run, split);
    const uint32_t s0 = run.segment0 + (split ? left : 0), s1 = split ? s0 + 1 : run.segment0 + run.segments;
    for (uint32_t s = s0; s < s1; s++) {
        const uint32_t from = max_u32(s * run.length, tile.queries[0].from), to = min_u32((s + 1) * run.length, run.seen + 1);
        begin_segment(&tile);
        visit_blocks(&tile, table_of(op, seq), kv, from / BLOCK_POSITIONS, (to + BLOCK_POSITIONS - 1) / BLOCK_POSITIONS);
        for (uint32_t i = 0; i < tile.count; i++) {
            struct query *query = &tile.queries[i];
            const uint32_t first = query->from / run.length, last = (query->to - 1) / run.length;
            v128_t *all = tile.all_y + i * (op->head_dim / 4);
            if (s < first || s > last) continue;
            query->segment.top = load_splat(&tile.top[i]);
            if (split && run.segments > 1) {
                v128_t *part = part_of(op, query->m, query->head, s - run.segment0);
                part[0] = query->segment.top;
                part[1] = query->segment.weights;
                part[2] = query->segment.offsets;
                for (uint32_t d = 0; d < op->head_dim / 4; d++) part[PART_SUMS / 4 + d] = y_of(&tile, i)[d];
                continue;
            }
            merge_segment(query, all, y_of(&tile, i), op->head_dim, s == first);
            if (s == last) put_query(op, query, all);
        }
    }
}

/* Second round of a split step: one tile per row and KV head combines the parts. Rows with one segment are already
 * done. */
static uint32_t merge_tiles(const struct op *o, const struct step *step) {
    const struct op_attention *op = (const struct op_attention *)o;
    const struct sequence *seqs = AT(const struct sequence *, step->seqs);
    if (!is_split(op, step)) return 0;
    for (uint32_t i = 0; i < step->sequences; i++) {
        const uint32_t last = seqs[i].position + seqs[i].rows;
        if (seqs[i].rows && last > segment_length(last - 1)) return step->tokens * op->kv_heads;
    }
    return 0;
}

static void tile_merge(const struct op *o, const struct step *step, uint32_t t) {
    const struct op_attention *op = (const struct op_attention *)o;
    const uint32_t m = t / op->kv_heads, kv = t % op->kv_heads, rows = rows_per_tile(op);
    const struct sequence *seq = AT(const struct sequence *, step->seqs) + AT(const uint32_t *, step->sequence_of)[m];
    const uint32_t position = AT(const uint32_t *, step->positions)[m];
    const struct run run = run_of(op, seq, rows, position / rows - seq->position / rows);
    if (run.segments == 1) return;
    const uint32_t first = first_seen(op, position + 1) / run.length, last = position / run.length;
    const struct range heads = heads_here(op, kv * op->ratio, (kv + 1) * op->ratio);
    for (uint32_t h = heads.from; h < heads.to; h++) {
        struct query query = {.m = m, .head = h};
        v128_t all[MAX_HEAD_DIM / 4];
        for (uint32_t s = first; s <= last; s++) {
            const v128_t *part = part_of(op, m, h, s - run.segment0);
            query.segment = (struct sums){part[0], part[1], part[2]};
            merge_segment(&query, all, part + PART_SUMS / 4, op->head_dim, s == first);
        }
        put_query(op, &query, all);
    }
}

/* kernel: OP_ATTENTION attention dots */
/* second round: OP_ATTENTION attention_merge dots */
const struct kernel DOTS(attention) = {tiles, tile_attention}, DOTS(attention_merge) = {merge_tiles, tile_merge};
