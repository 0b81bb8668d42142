/* topk: the best ids of a row of logits, sorted. In: f32 [n]. Out: logits and ids, best first, the lower id first among
 * equals.                                                                                                      exact
 *
 *   chunk c    logits 64 c to 64 c + 63; the last chunk is padded with -infinity
 *   group      the 16 logits 64 c + 4 j + lane of a chunk, j = 0..15: four groups a chunk, one per lane
 *   maxima     f32 [chunks][4], the largest of each group
 *   floor      the `most`-th largest of the maxima, or `least` if that is greater. At least `most` groups hold a logit
 *              that large, so none of the best `most` is below it. Fewer than `most` groups hold a larger one, so at
 *              most 16 * most logits are above it
 *   collect    logits at or above the floor by ascending id; of those equal to it, only the first `most`
 *   sort       four stable passes over the bytes of a key that rises as the logit falls, so ids stay in order
 *
 *   work       u32 keys [room] | u32 ids [room] | spare: u32 [2 * room], also the heap of the floor
 *              room is at least min(n, 17 * most). The answer replaces keys (as f32 logits) and ids
 *
 * A logit of -infinity is banned and never returned; -0 comes out as 0. */
#include <float.h>

#include "core/kernel.h"
#include "simd/simd.h"

enum { CHUNK = 64, LANES = 4, RADIX = 256 };
/* Returned in place of a count when a logit is NaN. */
#define NOT_A_NUMBER 0xffffffffu

/* A key that rises as the logit falls, equal for 0 and -0. */
INLINE uint32_t falling_key(float logit) {
    const uint32_t bits = bits_of(logit + 0.0f);
    return ~(bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u));
}
INLINE float logit_of_key(uint32_t key) {
    const uint32_t rising = ~key;
    return float_of(rising & 0x80000000u ? rising ^ 0x80000000u : ~rising);
}

/* The definition: takes the best remaining logit `most` times. */
uint32_t logits_top__ref(const float *row, uint32_t n, uint32_t most, float least, float *logits, uint32_t *ids) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (row[i] != row[i]) return NOT_A_NUMBER;
    }
    while (count < most) {
        uint32_t best = n;
        for (uint32_t i = 0; i < n; i++) {
            if (!(row[i] >= least && row[i] >= -FLT_MAX)) continue;
            const int is_behind = count == 0 || row[i] < logits[count - 1] || (row[i] == logits[count - 1] && i > ids[count - 1]);
            if (is_behind && (best == n || row[i] > row[best])) best = i;
        }
        if (best == n) break;
        logits[count] = row[best] + 0.0f;
        ids[count++] = best;
    }
    return count;
}

/* Chunk c of the row; for the last one, a padded copy in `tail`. */
INLINE const float *chunk_at(const float *row, uint32_t n, uint32_t c, float *tail) {
    if (c < n / CHUNK) return row + c * CHUNK;
    for (uint32_t i = 0; i < CHUNK; i++) tail[i] = c * CHUNK + i < n ? row[c * CHUNK + i] : -__builtin_inff();
    return tail;
}

/* Returns false when a logit is NaN. */
static int group_maxima(const float *row, uint32_t n, uint32_t chunks, float *maxima) {
    float tail[CHUNK];
    v128_t numbers = wasm_i32x4_splat(-1);
    for (uint32_t c = 0; c < chunks; c++) {
        const float *x = chunk_at(row, n, c, tail);
        v128_t most[4];
        UNROLLED for (int j = 0; j < 4; j++) {
            most[j] = load(x + 4 * j);
            numbers = wasm_v128_and(numbers, wasm_f32x4_eq(most[j], most[j]));
        }
        UNROLLED for (int j = 4; j < 16; j++) {
            const v128_t v = load(x + 4 * j);
            most[j % 4] = wasm_f32x4_pmax(most[j % 4], v);
            numbers = wasm_v128_and(numbers, wasm_f32x4_eq(v, v));
        }
        store(maxima + LANES * c, wasm_f32x4_pmax(wasm_f32x4_pmax(most[0], most[1]), wasm_f32x4_pmax(most[2], most[3])));
    }
    return wasm_i32x4_all_true(numbers);
}

/* Moves the value at `hole` down until no child is smaller, so that the smallest ends up at the front. */
INLINE void sift_down(float *heap, uint32_t count, uint32_t hole, float value) {
    for (uint32_t child; (child = 2 * hole + 1) < count; hole = child) {
        if (child + 1 < count && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= value) break;
        heap[hole] = heap[child];
    }
    heap[hole] = value;
}

/* The k-th largest of n values, k < n, n a multiple of 4. */
static float kth_largest(const float *values, uint32_t n, uint32_t k, float *heap) {
    for (uint32_t i = 0; i < k; i++) heap[i] = values[i];
    for (uint32_t i = k / 2; i-- > 0;) sift_down(heap, k, i, heap[i]);
    uint32_t i = k;
    for (; i < round_up(k, LANES); i++) {
        if (values[i] > heap[0]) sift_down(heap, k, 0, values[i]);
    }
    v128_t least = splat(heap[0]);
    for (; i < n; i += LANES) {
        if (!wasm_v128_any_true(wasm_f32x4_gt(load(values + i), least))) continue;
        for (uint32_t l = i; l < i + LANES; l++) {
            if (values[l] > heap[0]) sift_down(heap, k, 0, values[l]);
        }
        least = splat(heap[0]);
    }
    return heap[0];
}

/* Collects the candidates. Returns how many there are. */
static uint32_t collect(const float *row, uint32_t n, uint32_t chunks, const float *maxima, float floor, uint32_t most,
                        uint32_t *keys, uint32_t *ids) {
    float tail[CHUNK];
    const v128_t bar = splat(floor);
    uint32_t count = 0, equal = 0;
    for (uint32_t c = 0; c < chunks; c++) {
        if (!wasm_v128_any_true(wasm_f32x4_ge(load(maxima + LANES * c), bar))) continue;
        const float *x = chunk_at(row, n, c, tail);
        for (uint32_t j = 0; j < CHUNK; j += LANES) {
            uint32_t found = wasm_i32x4_bitmask(wasm_f32x4_ge(load(x + j), bar));
            for (; found != 0; found &= found - 1) {
                const uint32_t i = j + (uint32_t)__builtin_ctz(found);
                if (x[i] == floor && equal++ >= most) continue;
                keys[count] = falling_key(x[i]);
                ids[count++] = c * CHUNK + i;
            }
        }
    }
    return count;
}

/* One stable pass by the byte at `shift`. `ends` counts the bytes, and becomes the end of each byte's keys. */
static void sort_pass(const uint32_t *keys, const uint32_t *ids, uint32_t n, uint32_t shift, uint32_t *ends, uint32_t *to_keys,
                      uint32_t *to_ids) {
    for (uint32_t b = 0, start = 0; b < RADIX; b++) {
        const uint32_t here = ends[b];
        ends[b] = start;
        start += here;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t to = ends[keys[i] >> shift & (RADIX - 1)]++;
        to_keys[to] = keys[i];
        to_ids[to] = ids[i];
    }
}

/* Sorts by rising key. Returns the array that holds the answer: keys [room] | ids [room]. */
static uint32_t *sort(uint32_t *work, uint32_t *spare, uint32_t room, uint32_t n) {
    uint32_t counts[4][RADIX];
    __builtin_memset(counts, 0, sizeof counts);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t b = 0; b < 4; b++) counts[b][work[i] >> 8 * b & (RADIX - 1)]++;
    }
    for (uint32_t b = 0; b < 4; b++) {
        /* Skips this pass, because all keys share this byte. */
        if (counts[b][work[0] >> 8 * b & (RADIX - 1)] == n) continue;
        sort_pass(work, work + room, n, 8 * b, counts[b], spare, spare + room);
        uint32_t *swap = work;
        work = spare;
        spare = swap;
    }
    return work;
}

/* The best ids of the row at or above `least`, at most `most` of them (1 or more). Returns how many there are. */
__attribute__((export_name("logits_top")))
uint32_t logits_top(const float *row, uint32_t n, uint32_t most, float least, float *maxima, uint32_t *work, uint32_t room) {
    const uint32_t chunks = (n + CHUNK - 1) / CHUNK;
    uint32_t *spare = work + 2 * room;
    if (!group_maxima(row, n, chunks, maxima)) return NOT_A_NUMBER;
    float floor = most < LANES * chunks ? kth_largest(maxima, LANES * chunks, most, (float *)spare) : -FLT_MAX;
    floor = floor > least ? floor : least;
    floor = floor > -FLT_MAX ? floor : -FLT_MAX;
    const uint32_t found = collect(row, n, chunks, maxima, floor, most, work, work + room);
    if (found == 0) return 0;
    const uint32_t *sorted = sort(work, spare, room, found), count = min_u32(found, most);
    for (uint32_t i = 0; i < count; i++) {
        const float logit = logit_of_key(sorted[i]);
        __builtin_memcpy(work + i, &logit, sizeof logit);
        work[room + i] = sorted[room + i];
    }
    return count;
}
