/* limits.c: the peak speeds of this machine. In: records of work without a model. Out: the work, done by one thread or
 * by all, and its result, so that the compiler cannot optimise the work away. A separate module, which the engine never
 * loads.
 *
 * It has the exports of run.c and the same barriers: the engine's own pool runs it, and waiting costs the same as in
 * the engine. Unlike the engine's ops these have no tiles: thread t reads bytes [t * bytes, (t + 1) * bytes) from
 * `address`. */
#include "simd/simd.h"
#include "core/sync.h"

#define EXPORT(name) __attribute__((export_name(name)))
#define AT(type, address) ((type)(uintptr_t)(address))

enum limit_code {
    LIMIT_NOTHING = 0,
    LIMIT_READ_ONE = 1,   /* one stream */
    LIMIT_READ_EIGHT = 2, /* eight streams, bytes / 8 apart */
    LIMIT_DOT_I16 = 3,    /* i32x4.dot_i16x8_s and an add: 16 operations */
    LIMIT_MUL_ADD = 4,    /* f32x4.mul and f32x4.add: 8 operations */
    LIMIT_DOT_I8 = 5,     /* i32x4.relaxed_dot_i8x16_i7x16_add_s: 32 operations; relaxed only */
    LIMIT_FMA = 6,        /* f32x4.relaxed_madd: 8 operations; relaxed only */
    LIMIT_DOT_I8_PAIRS = 7, /* i16x8.relaxed_dot_i8x16_i7x16_s and an add: 32 operations; relaxed only */
};

/* `rounds`: passes over the bytes, or rounds of PEAK_WIDTH instructions on registers. results: u32 per thread, one
 * cache line apart. bytes is a multiple of 4096. */
struct limit { uint32_t code, address, bytes, rounds, results; };

/* The sum of the u32 at [p, p + bytes). */
static uint32_t read_one(const uint8_t *p, uint32_t bytes) {
    v128_t sums[4];
    UNROLLED for (int i = 0; i < 4; i++) sums[i] = wasm_i32x4_splat(0);
    ROLLED for (const uint8_t *end = p + bytes; p < end; p += 128) {
        UNROLLED for (int i = 0; i < 8; i++) sums[i % 4] = wasm_i32x4_add(sums[i % 4], load(p + 16 * i));
    }
    UNROLLED for (int i = 1; i < 4; i++) sums[0] = wasm_i32x4_add(sums[0], sums[i]);
    return sum_lanes(sums[0]);
}

/* The same sum, reading a cache line from each of eight streams in turn. */
static uint32_t read_eight(const uint8_t *p, uint32_t bytes) {
    const uint8_t *at[8];
    v128_t sums[8];
    UNROLLED for (uint32_t s = 0; s < 8; s++) at[s] = p + s * (bytes / 8), sums[s] = wasm_i32x4_splat(0);
    ROLLED for (uint32_t i = 0; i < bytes / 8; i += 64) {
        UNROLLED for (int s = 0; s < 8; s++) {
            UNROLLED for (int v = 0; v < 4; v++) sums[s] = wasm_i32x4_add(sums[s], load(at[s] + i + 16 * v));
        }
    }
    UNROLLED for (int s = 1; s < 8; s++) sums[0] = wasm_i32x4_add(sums[0], sums[s]);
    return sum_lanes(sums[0]);
}

/* `rounds` times 8 steps on registers: enough accumulators to hide the latency, few enough operands for 16 registers.
 * One operand changes each round, because the compiler would move a product of constants out of the loop. x starts at
 * 1, 2 in every lane of `type`, w at 1, 2, 3, 4, the accumulators at 0. The result is the sum of all lanes' bits. */
#define PEAK(name, ones, step, move)                                                                                   \
    static uint32_t name(uint32_t rounds) {                                                                            \
        v128_t x[2], w[4], acc[8];                                                                                     \
        UNROLLED for (int i = 0; i < 2; i++) x[i] = ones(i + 1);                                                       \
        UNROLLED for (int i = 0; i < 4; i++) w[i] = ones(i + 1);                                                       \
        UNROLLED for (int i = 0; i < 8; i++) acc[i] = wasm_i32x4_splat(0);                                             \
        ROLLED for (uint32_t r = 0; r < rounds; r++) {                                                                 \
            UNROLLED for (int i = 0; i < 8; i++) {                                                                     \
                acc[i] = step(acc[i], x[i / 4], w[i % 4]);                                                             \
                pin(acc[i]);                                                                                           \
            }                                                                                                          \
            UNROLLED for (int i = 0; i < 2; i++) x[i] = move(x[i], w[i]);                                              \
        }                                                                                                              \
        UNROLLED for (int i = 1; i < 8; i++) acc[0] = wasm_i32x4_add(acc[0], acc[i]);                                  \
        return sum_lanes(acc[0]);                                                                                      \
    }

INLINE v128_t shorts_of(int i) { return constant((uint32_t)i * 0x00010001u); }
INLINE v128_t floats_of(int i) { return constant(bits_of((float)i)); }
INLINE v128_t dot_i16_step(v128_t acc, v128_t x, v128_t w) { return wasm_i32x4_add(acc, wasm_i32x4_dot_i16x8(w, x)); }
INLINE v128_t mul_add_step(v128_t acc, v128_t x, v128_t w) { return add(acc, mul(x, w)); }
PEAK(dot_i16, shorts_of, dot_i16_step, wasm_i16x8_add)
PEAK(mul_add, floats_of, mul_add_step, add)

#if defined(__wasm_relaxed_simd__)
INLINE v128_t bytes_of(int i) { return constant((uint32_t)i * 0x01010101u); }
INLINE v128_t dot_i8_step(v128_t acc, v128_t x, v128_t w) {
    return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(x, w, acc);
}
INLINE v128_t dot_i8_pairs_step(v128_t acc, v128_t x, v128_t w) {
    return wasm_i16x8_add(acc, wasm_i16x8_relaxed_dot_i8x16_i7x16(x, w));
}
INLINE v128_t fma_step(v128_t acc, v128_t x, v128_t w) { return wasm_f32x4_relaxed_madd(x, w, acc); }
PEAK(dot_i8, bytes_of, dot_i8_step, wasm_i8x16_add)
PEAK(dot_i8_pairs, bytes_of, dot_i8_pairs_step, wasm_i8x16_add)
PEAK(fma, floats_of, fma_step, add)
#endif

static uint32_t work(const struct limit *limit, uint32_t thread) {
    const uint8_t *p = AT(const uint8_t *, limit->address) + thread * limit->bytes;
    uint32_t sum = 0;
    switch (limit->code) {
    case LIMIT_READ_ONE:
        ROLLED for (uint32_t r = 0; r < limit->rounds; r++) sum += read_one(p, limit->bytes);
        return sum;
    case LIMIT_READ_EIGHT:
        ROLLED for (uint32_t r = 0; r < limit->rounds; r++) sum += read_eight(p, limit->bytes);
        return sum;
    case LIMIT_DOT_I16: return dot_i16(limit->rounds);
    case LIMIT_MUL_ADD: return mul_add(limit->rounds);
#if defined(__wasm_relaxed_simd__)
    case LIMIT_DOT_I8: return dot_i8(limit->rounds);
    case LIMIT_DOT_I8_PAIRS: return dot_i8_pairs(limit->rounds);
    case LIMIT_FMA: return fma(limit->rounds);
#endif
    default: return 0;
    }
}

/* Records [first, last). Each ends with a barrier, as every op of the engine does. */
EXPORT("run")
uint32_t run(struct sync *sync, const struct limit *limits, const void *step, uint32_t first, uint32_t last,
             uint32_t thread, uint32_t threads) {
    (void)step;
    for (uint32_t i = first; i < last; i++) {
        const uint32_t result = work(&limits[i], thread);
        if (limits[i].results != 0) AT(uint32_t *, limits[i].results)[16 * thread] = result;
        if (threads == 1) continue;
        struct claimer claims = claimer(thread, threads);
        while (claim_tile(sync, &claims, threads) != NO_TILE) continue; /* one tile each, because claiming has a cost */
        if (barrier(sync, threads)) return 1;
    }
    return 0;
}

EXPORT("serve")
void serve(struct sync *sync, uint32_t thread) {
    for (uint32_t seen = 0;;) {
        seen = next_command(sync, seen);
        if (atomic_read(&sync->quit) || atomic_read(&sync->poison)) return;
        if (run(sync, AT(const struct limit *, sync->plan), 0, sync->first, sync->last, thread, sync->threads)) return;
    }
}

EXPORT("poison")
void poison(struct sync *sync) { poison_all(sync); }

EXPORT("abi_version")
uint32_t abi_version(void) { return ABI_VERSION; }
