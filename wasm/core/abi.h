/* abi.h: the records that TypeScript writes into linear memory and C reads. Types only.
 *
 * src/core/abi/ mirrors this file field by field. A test parses both and fails if they differ. The version of all
 * records, ABI_VERSION, is in src/core/abi/ops.ts; the build passes it to C. Every field is one little-endian 32-bit
 * word. Pointers are addresses in linear memory. Strides are in bytes.
 *
 * Shapes: M rows of this step (the tokens of all sequences), R rows whose logits are wanted, K inputs, N outputs,
 *         G = K32 / 32 groups, where K32 is K rounded up to 32.
 *
 * f32 row     f32 [n rounded up to 32]; lanes past n are zero. Norm weights and biases are f32 rows too
 * a8 row      i8 [K32] codes | f32 [G] scales | i32 [G] sums of codes; the stride is rounded up to 16 bytes. In a whole
 *             a8 row, all groups have the same scale
 * matrices    panels of 8 rows, N padded to 32 with zero rows:
 *   f32       [N32/8][K][8] f32          f16, bf16: the same with 16-bit elements
 *   w4_g32    [N32/8][G] blocks of 144 bytes: 16 scales bytes, 8 vectors
 *   w4m_g32   [N32/8][G] blocks of 160 bytes: 16 scales bytes, 16 minimum bytes, 8 vectors
 *   w8_g32    [N32/8][G] blocks of 272 bytes: 16 scales bytes, 16 vectors
 *   w4_channel  [N32/8] panels of 16 scales bytes, then [G] blocks of 8 vectors: one scale for all inputs of an output
 *   w2_g256   [N32/8] panels of [G/8, rounded up] runs: 16 scales bytes, then 8 blocks, or what is left of G, of 4
 *             vectors: one scale for 256 inputs of an output
 *     scales, minimums   four u32: low half f16 of row i, high half f16 of row i + 4, both times 2^8 (SCALE_EXPONENT).
 *                        The factor keeps them normal where the file's f16 are subnormal
 *     w4 vector j        16 bytes [row 0..3][input 4j..4j+3]: low nibble rows 0-3, high nibble rows 4-7
 *     w2 vector j        16 bytes [row 0..3][input 8j..8j+3]: from the low bits on, 2 bits each of rows 0-3 and of rows
 *                        4-7, then the same of inputs 8j+4..8j+7
 *     w8 vectors 2j,2j+1 16 bytes [row 0..3 | row 4..7][input 4j..4j+3]: code + 128 as u8
 *   W = scale * (code - 8)      w4_g32 and w4_channel, codes 0..15
 *   W = scale * (code - 1)      w2_g256, codes 0..3
 *   W = scale * code + minimum  w4m_g32
 *   W = scale * code            w8_g32, codes -127..127
 * sparse matrices (w4_g32_sb84 ..)   strips of 32 rows that keep some of the weights of w4_g32 or w8_g32; see sparse.h
 *
 * Slab of a sequence: the f32 state of its recurrent layers, each at its state_offset. A new slab is all zeros.
 *
 * KV block of 64 positions: one layer's part is at k_offset and v_offset from the block's address. The KV heads follow
 * each other, in the layer's kv_format:
 *   K f32    f32 [64/4][head_dim][4]
 *   K int8   i8 [64/4][head_dim/4][4 positions][4 dims]
 *            | f32 [64] scales | f32 [64] offsets | i32 [64] sums of codes * -64
 *   V f32    f32 [head_dim/4][64][4]
 *   V int8   i8 [head_dim/4][64/4][4 dims][4 positions] | f32 [64] scales | f32 [64] offsets
 *   V fp8    e3m4 [head_dim/4][64][4] | f32 [64] scales
 *   value = scale * code + offset     int8, codes -128..127
 *   value = scale * code              fp8, normal codes (2^-2 to 31) and zero only
 */
#ifndef HALFBYTE_ABI_H
#define HALFBYTE_ABI_H
#include <stdint.h>

enum {
    OP_BYTES = 128, BLOCK_POSITIONS = 64, GROUP = 32, PANEL = 8, SCALE_EXPONENT = 8, ID_BITS = 24, INPUT_BIT = 31,
    MAX_STATE_GROUPS = 4, MAX_ROPES = 4, SLICES = 8, CLAIM_WORDS = 128, SPLIT_ROWS = 8, MAX_SEGMENTS = 16,
    PART_SUMS = 12
};

/* What a row of an op represents. ROWS_ROUTED + u: each row of the step appears u times, once for each expert to which
 * it is routed. */
enum rows { ROWS_TOKENS = 0, ROWS_LOGITS = 1, ROWS_ROUTED = 2 };

enum op_code {
    OP_EMBED = 0,
    OP_RMSNORM = 1,
    OP_QUANTIZE = 2,
    OP_LINEAR_F32 = 3,
    OP_LINEAR_F16 = 4,
    OP_LINEAR_BF16 = 5,
    OP_LINEAR_W8A8_G32 = 6,
    OP_LINEAR_W4A8_G32 = 7,
    OP_LINEAR_W4MA8_G32 = 8,
    OP_ROPE_KV = 9,
    OP_ATTENTION = 10,
    OP_SWIGLU = 11,
    OP_ADD = 12,
    OP_LINEAR_SWIGLU_W8A8_G32 = 13,
    OP_LINEAR_SWIGLU_W4A8_G32 = 14,
    OP_LINEAR_SWIGLU_W4MA8_G32 = 15,
    OP_SHIFT_KV = 16,
    OP_LINEAR_SPARSE = 17,
    OP_LINEAR_SWIGLU_SPARSE = 18,
    OP_CONV1D = 19,
    OP_SCAN = 20,
    OP_SSD = 21,
    OP_LAYERNORM = 22,
    OP_RESCALE = 23,
    OP_ROUTE = 24,
    OP_GATHER = 25,
    OP_LINEAR_EXPERTS = 26,
    OP_COMBINE = 27,
    OP_CHECK_PARTS = 28,
    OP_RENORM = 29,
    OP_LINEAR_W4A8_CHANNEL = 30,
    OP_CLAMP = 31,
    OP_GATE_ROWS = 32,
    OP_JOIN_HEADS = 33,
    OP_BIAS_EXPERTS = 34,
    OP_DELTA = 35,
    OP_LRU = 36,
    OP_WKV = 37,
    OP_LINEAR_W2A8_G256 = 38,
    OP_MIX_STREAMS = 39,
    OP_MATCH_RMS = 40,
    OP_CUT_LOW = 41,
    OP_WEIGH = 42,
    OP_REPACK = 43,
    OP_COUNT = 44
};

enum encoding {
    ENC_F32 = 0, ENC_F16 = 1, ENC_BF16 = 2, ENC_W8_G32 = 3, ENC_W4_G32 = 4, ENC_W4M_G32 = 5,
    ENC_W4_G32_SB84 = 6, ENC_W8_G32_SB84 = 7, ENC_W4_G32_SV32 = 8, ENC_W8_G32_SV32 = 9,
    ENC_W8_G32_SP24 = 10, ENC_W4_CHANNEL = 11, ENC_W2_G256 = 12
};

/* How keys or values are stored. fp8 is for values only. */
enum kv_format { KV_F32 = 0, KV_INT8 = 1, KV_FP8 = 2 };

/* The activation of a gate. gelu is the approximation by tanh, gelu_exact the one by erf, gelu_quick the one by a
 * sigmoid; relu2 is the square of relu. xielu (Huang and Schlag, 2024) has parameters, which only swiglu carries.
 * conv1d has the first three. */
enum activation {
    ACT_SILU = 0, ACT_GELU = 1, ACT_NONE = 2, ACT_GELU_EXACT = 3, ACT_RELU = 4, ACT_RELU2 = 5, ACT_XIELU = 6,
    ACT_GELU_QUICK = 7, ACT_SIGMOID = 8
};

enum pairing { PAIR_HALVES = 0, PAIR_INTERLEAVED = 1 };

/* Norms of queries and keys: the bits of norm_kind. */
enum norm_kind { NORM_ROW = 1, NORM_CENTRED = 2, NORM_EACH = 4, NORM_LATER = 8, NORM_VALUES = 16 };

/* Every record begins with its code and the kind of rows it works on, and is OP_BYTES long. */
struct op { uint32_t code, rows; };

/* What selects a row of a table: the token's id, its position, or its kind, such as which text of a pair it belongs to.
 * A token's word has its id in the lowest ID_BITS and its kind above them. A word with INPUT_BIT stands for a row that
 * the step supplies itself, such as a part of an image. BY_INPUT: every row is supplied, and there is no table. */
enum selector { BY_ID = 0, BY_POSITION = 1, BY_KIND = 2, BY_INPUT = 3 };

/* y[m] = scale * table[id], where `by` selects the id. The table holds the rows [first, first + vocab) of `whole`. An
   id outside them gives zeros. For a row supplied by the step, y[m] = inputs[m], without the scale; on shards, the
   first has it and the others have zeros. */
struct op_embed {
    uint32_t code, rows, table, encoding, vocab, n, y, y_stride;
    float scale;
    uint32_t first, whole, by;
};

/* y[m] = x[m] * weight / sqrt(mean(x[m]^2) + eps), as f32 rows (y) and/or a8 rows (q); 0: not wanted. With `parts`
 * above 1, the row consists of that many parts, each a whole number of groups of 32 and normalised by its own mean.
 * ROWS_LOGITS: the input row is logit_rows[r], the output row is r. */
struct op_rmsnorm { uint32_t code, rows, x, x_stride, weight, n, y, y_stride, q, q_stride; float eps; uint32_t parts; };

/* q[m] = the a8 row of x[m] or, where order is not 0, of x[m][order[i]]. order: f32 [n], whole numbers below n; n is
 * then a multiple of 32. whole 1: one scale for the row. */
struct op_quantize { uint32_t code, rows, x, x_stride, n, q, q_stride, order, whole; };

/* y[m][n] = sum_k w[n][k] x[m][k] + bias[n] (bias 0: none); added to y when accumulate is 1.
 * x is f32 rows for the float encodings, a8 rows for the quantised ones, whole a8 rows for w4_channel
 * and w2_g256. */
struct op_linear { uint32_t code, rows, w, bias, n, k, x, x_stride, y, y_stride, accumulate; };

/* Rotates q in place, rotates k, and writes k and v to the row's KV block. rope: index of the table in the step.
 * rope_dims of head_dim are rotated, in pairs (i, i + rope_dims/2) or (2i, 2i+1). rope_dims 0: no rotation.
 * q is rotated by the table rope_q. q_norm, k_norm: weights of an rmsnorm that runs first (0: none): f32
 * [head_dim], for each head by itself. The bits of norm_kind change it. NORM_ROW: f32 [heads * head_dim] and
 * [kv_heads * head_dim], for all heads of a row together. NORM_CENTRED: the mean is subtracted first.
 * NORM_EACH: as many weights, but each head is normalised by itself. NORM_LATER: it runs after the rotation.
 * NORM_VALUES: each head of v is normalised as well, without weights, before it is stored. kv_heads 0: only q is
 * rotated; the layer attends to another layer's state. q_norm_bias, k_norm_bias: as many biases (0:
 * none). k_bias (0: none): f32 [kv_heads][head_dim], subtracted from rotated keys before they are stored, in
 * pairs from `still` on and in dims past rope_dims. All scores of a query then differ by the same number, so
 * its softmax does not change. */
struct op_rope_kv {
    uint32_t code, rows, q, q_stride, k, k_stride, v, v_stride, heads, kv_heads, head_dim;
    uint32_t rope, rope_dims, pairing, group, k_offset, v_offset, k_format, v_format;
    uint32_t q_norm, k_norm, norm_kind;
    float eps;
    uint32_t k_bias, still;
    float least, most;
    uint32_t rope_q, q_norm_bias, k_norm_bias;
};

/* y[m] = softmax(scale * q[m] K^T) V over positions 0..position[m], or the last `window` of them when window > 0.
 * cap > 0: scores s become cap * tanh(s / cap) before the softmax. least < most: then they are limited to this range.
 * Output as f32 rows (y) and/or a8 rows (a8, only when head_dim % 32 == 0); 0: not wanted. parts: space for
 * [SPLIT_ROWS][heads][MAX_SEGMENTS][PART_SUMS + head_dim] f32. With it, steps of up to SPLIT_ROWS rows also split the
 * positions of a row among tiles; 0: no space, no split, and the same result. ratio: query heads for each KV head. The
 * first `absent` query heads of the first KV head are missing, and so may be the last query heads of the last KV head.
 * after: the number of positions after its own that a row also sees, up to the last row of its sequence in the step.
 * bias (0: none): f32 [heads][2 * reach + BLOCK_POSITIONS], added to the scores last. Column reach + d is for the
 * position d after the row's own. No row is at a position past `reach`. sinks (0: none): f32 [heads], one more score
 * for each head's softmax, of a position whose value is zero. */
struct op_attention {
    uint32_t code, rows, q, q_stride, y, y_stride, a8, a8_stride, heads, kv_heads, head_dim;
    uint32_t group, k_offset, v_offset, k_format, v_format, window;
    float scale, cap;
    uint32_t parts, ratio, absent;
    float least, most;
    uint32_t after, bias, reach, sinks;
};

/* y = act(gate) * up, or act(gate) when up is 0, as f32 rows (y) and/or a8 rows (q). y may be gate: the memory plan
 * overwrites gate. above, below, slope, eps: the parameters of xielu. */
struct op_swiglu {
    uint32_t code, rows, gate, gate_stride, up, up_stride, n, y, y_stride, q, q_stride, activation;
    float above, below, slope, eps;
};

/* q[m] = act(gate) * up as an a8 row of n values, where gate and up are two products of the a8 row x[m]. w holds the n
 * rows of gate, padded to 32, then the n rows of up. bias (0: none) has the same order. */
struct op_linear_swiglu { uint32_t code, rows, w, bias, n, k, x, x_stride, q, q_stride, activation; };

/* Moves positions [from, from + count) of the block table from_blocks to [to, to + count) of to_blocks, in one layer. K
 * is rotated by the angles of to - from, f32 [rope_dims/2][cosine, sine]; V is copied. Positions are moved in ascending
 * order, so each is read before it is overwritten. k_bias and still: as in op_rope_kv. Needs no step. rows:
 * ROWS_TOKENS. */
struct op_shift_kv {
    uint32_t code, rows, from_blocks, from, to_blocks, to, count, angles, kv_heads, head_dim;
    uint32_t rope_dims, pairing, k_offset, v_offset, k_format, v_format, k_bias, still;
};

/* op_linear and op_linear_swiglu for the sparse encodings. */
struct op_linear_sparse { uint32_t code, rows, w, bias, n, k, x, x_stride, y, y_stride, accumulate, encoding; };
struct op_linear_swiglu_sparse { uint32_t code, rows, w, bias, n, k, x, x_stride, q, q_stride, activation, encoding; };

/* y[m] = act(bias + sum_j w[j] x[m - taps + 1 + j]) for each channel, silu or none, as f32 rows (y) and optionally a8
 * rows (q; 0: not wanted). taps: 2 to 4. bias 0: none. The inputs before a step's first row are in the sequence's slab,
 * tables[group], at state_offset. Channels are a multiple of 32, here and below. Layouts: conv1d.c. */
struct op_conv1d {
    uint32_t code, rows, x, x_stride, w, bias, channels, taps, group, state_offset, y, y_stride, q, q_stride, activation;
};

/* The selective scan of Mamba, as f32 rows (y) and/or a8 rows (q); 0: not wanted. Formulas and layouts: scan.c. */
struct op_scan {
    uint32_t code, rows, u, u_stride, dt, dt_stride, z, z_stride, b, b_stride, c, c_stride;
    uint32_t decay, skip, channels, states, group, state_offset, y, y_stride, q, q_stride;
};

/* The state space layer of Mamba-2. head_dim is at most 256; states is a multiple of 4. Formulas and
 * layouts: ssd.c. */
struct op_ssd {
    uint32_t code, rows, x, x_stride, dt, dt_stride, z, z_stride, b, b_stride, c, c_stride;
    uint32_t decay, skip, dt_bias, heads, head_dim, groups, states, group, state_offset, y, y_stride;
    float least, most;
};

/* The gated delta rule. key_dim and head_dim are multiples of 4, at most 256. channels 1: a step size for each key
 * channel, 0: for each head. gate: silu or sigmoid. Formulas and layouts: delta.c. */
struct op_delta {
    uint32_t code, rows, x, x_stride, dt, dt_stride, beta, beta_stride, z, z_stride, decay, dt_bias, weight;
    uint32_t heads, key_heads, ratio, key_dim, head_dim, channels, gate, group, state_offset, y, y_stride;
    float scale, eps;
};

/* The gated linear recurrent unit of Griffin. The gates' matrices consist of `blocks` blocks on the diagonal; a block's
 * width is a multiple of 4. Formulas and layouts: lru.c. */
struct op_lru {
    uint32_t code, rows, x, x_stride, enter_weight, enter_bias, stay_weight, stay_bias, param, channels, blocks, group;
    uint32_t state_offset, y, y_stride;
};

/* The weighted average of RWKV-4. Formulas and layouts: wkv.c. */
struct op_wkv {
    uint32_t code, rows, k, k_stride, v, v_stride, decay, first, channels, group, state_offset, y, y_stride;
};

/* y[m] += scale * x[m] */
struct op_add { uint32_t code, rows, x, x_stride, y, y_stride, n; float scale; };

/* y[m] = (x[m] - mean(x[m])) / sqrt(variance(x[m]) + eps) * weight + bias (bias 0: none). Outputs and rows: see
 * op_rmsnorm. */
struct op_layernorm { uint32_t code, rows, x, x_stride, weight, bias, n, y, y_stride, q, q_stride; float eps; };

/* y[m] *= scale, then y[m] = cap * tanh(y[m] / cap) when cap > 0 */
struct op_rescale { uint32_t code, rows, y, y_stride, n; float scale, cap; };

/* y[m] = x[m] clamped to least..most. least <= 0 <= most, so zeros stay zero. y may be x. */
struct op_clamp { uint32_t code, rows, x, x_stride, y, y_stride, n; float least, most; };

/* norm = sqrt(sum / size + eps). With x: sum is the sum of squares of the `size` values x[m]; y[m] *= norm, and the sum
 * is stored in y[m][round_up(n, 32)]. If x is 0, the sum of the squares of `size` values is read from that place, and
 * y[m] *= 1 / norm. */
struct op_renorm { uint32_t code, rows, x, x_stride, y, y_stride, n, size; float eps; };

/* How a router turns logits x into scores: p[e] = softmax(x)[e], or p[e] = 1 / (1 + e^-x[e]). mixer: experts are chosen
 * one after the other, each with a softmax over the remaining logits near the largest of them (route.c). */
enum scoring { SCORE_SOFTMAX = 0, SCORE_SIGMOID = 1, SCORE_MIXER = 2 };

/* Chooses the experts of each row: the `used` experts with the largest p[e] + bias[e] (bias 0: none). Their weights
 * are scale * p[e], divided by eps + the sum of the chosen p[e] when normalize is 1.
 * groups above 1: only experts of the groups_used best groups are chosen. A group is `experts / groups` consecutive
 * experts. The best have the largest sums of their group_best (1 or 2) largest p[e] + bias[e].
 * route: u32 [experts + 1] the first place of each expert | u32 the number of experts with places | u32 [experts] these
 * experts, ascending | u32 [tokens * used] the row at each place | u32 [tokens][used] the place of each row's choices |
 * f32 [tokens][used] their weights. Places are ordered by expert, then by row. rows: ROWS_TOKENS. */
struct op_route {
    uint32_t code, rows, x, x_stride, experts, used, normalize, route, bias, scoring, groups, groups_used, group_best;
    float scale, eps;
};

/* y[place] = x[row at that place]; n values of f32, or words of a8 rows. rows: ROWS_ROUTED + used, as in the next
 * two. */
struct op_gather { uint32_t code, rows, x, x_stride, y, y_stride, n, route, experts; };

/* op_linear for the places of each expert, with that expert's weights. w holds one matrix for each expert,
 * `expert_bytes` apart, in any dense encoding. No bias. */
struct op_linear_experts {
    uint32_t code, rows, w, n, k, x, x_stride, y, y_stride, encoding, expert_bytes, route, experts;
};

/* y[place] += bias[e], e the expert of that place. bias: an f32 row for each expert. rows: ROWS_ROUTED + used. */
struct op_bias_experts { uint32_t code, rows, y, y_stride, n, bias, route, experts; };

/* y[m][i] *= 1 / (1 + e^-x[m][i / width]). width is a multiple of 4, or n. */
struct op_gate_rows { uint32_t code, rows, x, x_stride, y, y_stride, n, width; };

/* Row m of y has `heads` heads of y_dim numbers. Each is s[m], `shared` numbers (0: none), then the first `own`
 * numbers of the same head of x[m], whose heads are x_dim apart, then zeros. */
struct op_join_heads { uint32_t code, rows, s, s_stride, shared, x, x_stride, x_dim, own, y, y_stride, y_dim, heads; };

/* Rows of `streams` streams of n numbers, `apart` numbers from one to the next. From stream `first` on, stream i of
 * y[m] is that of x[m] plus the sum over j < inputs of (offset + c[m][i * inputs + j]) * stream j of z[m]; those
 * before it are those of x[m]. c 0: the coefficients are `offset`. y overlaps neither x nor z. */
struct op_mix_streams {
    uint32_t code, rows, x, x_stride, z, z_stride, c, c_stride, y, y_stride, n, apart, streams, inputs, first;
    float offset;
};

/* y[m] = x[m] * (root mean square of by[m] / that of x[m]); the mean square of x[m] counts as at least `least`. */
struct op_match_rms { uint32_t code, rows, x, x_stride, by, by_stride, y, y_stride, n; float least; };

/* y[m] = max(0, x[m] - (mean of x[m] + scale * its standard deviation)). y may be x. */
struct op_cut_low { uint32_t code, rows, x, x_stride, y, y_stride, n; float scale; };

/* y[m][i] = x[m][i] * weight[i] */
struct op_weigh { uint32_t code, rows, x, x_stride, weight, y, y_stride, n; };

/* y[m] = sum of weight * x[place] over the choices of row m, best first. rows: ROWS_TOKENS. */
struct op_combine { uint32_t code, rows, x, x_stride, y, y_stride, n, route, experts, used; };

/* touch 1: faults in the memory of `count` parts of the state. touch 0: writes the checksum of each part into its
 * entry of the list. Layout: check-parts.c. Needs no step. rows: ROWS_TOKENS. */
struct op_check_parts { uint32_t code, rows, parts, count, touch; };

/* How a file stores rows. Q4_K, Q5_K and Q6_K have blocks of 256 elements, the others of 32. */
enum stored_type {
    STORED_Q4_0 = 0, STORED_Q4_1 = 1, STORED_Q5_0 = 2, STORED_Q8_0 = 3, STORED_Q4_K = 4, STORED_Q5_K = 5, STORED_Q6_K = 6
};

/* Moves 8 * panels stored rows at `from` into panels at `to`. Layouts: repack.c. Needs no step. rows: ROWS_TOKENS. */
struct op_repack { uint32_t code, rows, from, to, k, panels, stored, encoding, faults; };

/* One sequence's part of a step: rows [row0, row0 + rows), the first at `position`. tables[g]: u32 block addresses. */
struct sequence { uint32_t row0, rows, position, whole, tables[MAX_STATE_GROUPS]; };

/* The ragged descriptor of one step. ids, sequence_of and positions: u32 [tokens]; seqs: struct sequence [sequences];
 * logit_rows: u32 [logit_count], row indices; ropes[i]: f32 [tokens][rope_dims/2][2] cosine, sine. inputs: f32
 * [tokens][n of the op that reads them], of which only rows with INPUT_BIT are read; 0 if no row has INPUT_BIT. */
struct step {
    uint32_t tokens, sequences, logit_count, ids, sequence_of, positions, seqs, logit_rows, ropes[MAX_ROPES], inputs;
};

/* State shared by the threads of a pool. Each word that threads write often has its own cache line. */
struct sync {
    uint32_t command, pad0[15];            /* incremented to start a run; workers sleep on it */
    uint32_t plan, step, first, last, threads, quit, pad1[10];
    uint32_t arrived, pad2[15];            /* threads at the barrier */
    uint32_t generation, pad3[15];         /* incremented by the last thread to arrive */
    uint32_t claims[CLAIM_WORDS];          /* SLICES lines: tiles claimed of a slice, from its front and its back */
    uint32_t poison, pad5[15];             /* non-zero: a thread died; all others must leave */
};
#endif
