/* sync.h: atomics, sleeping and the barrier of a pool. In: struct sync in shared memory. Out: threads in step.
 * The plain build has one thread: its versions are ordinary loads and stores, and no thread ever waits. */
#ifndef HALFBYTE_SYNC_H
#define HALFBYTE_SYNC_H
#include <stdint.h>

#include "core/abi.h"

static inline uint32_t atomic_read(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
static inline void atomic_write(uint32_t *p, uint32_t v) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); }
static inline uint32_t atomic_increment(uint32_t *p) { return __atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST); }
static inline uint64_t atomic_add64(uint64_t *p, uint64_t v) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); }
static inline void atomic_write64(uint64_t *p, uint64_t v) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); }
static inline uint32_t atomic_swap(uint32_t *p, uint32_t v) { return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); }
static inline void atomic_set_bits(uint32_t *p, uint32_t v) { __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST); }

#if defined(__wasm_atomics__)
/* Sleeps while *p is `expected`, at most `nanoseconds` (negative: without limit). */
static inline void sleep_while(uint32_t *p, uint32_t expected, int64_t nanoseconds) {
    __builtin_wasm_memory_atomic_wait32((int32_t *)p, (int32_t)expected, nanoseconds);
}
static inline void wake_all(uint32_t *p) { __builtin_wasm_memory_atomic_notify((int32_t *)p, UINT32_MAX); }
#else
static inline void sleep_while(uint32_t *p, uint32_t expected, int64_t nanoseconds) {
    (void)p, (void)expected, (void)nanoseconds;
}
static inline void wake_all(uint32_t *p) { (void)p; }
#endif

/* Number of times a word is read before its reader sleeps: 25 us on a fast core, about 150 us on a slow one. Waking
 * costs 5-35 us, leaving a spin loop 0.3 us; most waits inside a step are shorter than the spin. */
enum { SPINS = 150000 };
/* When no tile is claimed and no thread arrives for this long, the missing threads are assumed dead. */
enum { PATIENCE_SECONDS = 20 };
/* Bit of `generation`: set while a thread sleeps on it and has to be woken. The count itself increases by two. */
enum { SLEEPER = 1 };

/* The tiles of an op are divided into one slice per thread. A thread first takes the tiles of its own slice in order,
 * so it continues reading where its last tile ended, and writes no cache line that another thread writes. Then it takes
 * the remaining tiles of other slices, from their ends. A claim is one addition: the low word counts the tiles taken
 * from the front, the high word those taken from the back. */
static inline uint64_t *claims_of(struct sync *sync, uint32_t slice) {
    return (uint64_t *)(sync->claims + slice * (CLAIM_WORDS / SLICES));
}
static inline uint32_t slice_count(uint32_t threads) { return threads < SLICES ? threads : SLICES; }

struct claimer { uint32_t slices, own, visited; };
static inline struct claimer claimer(uint32_t thread, uint32_t threads) {
    const uint32_t slices = slice_count(threads);
    return (struct claimer){slices, thread % slices, 0};
}
/* The next of `count` tiles for this thread, or NO_TILE. */
enum { NO_TILE = 0xffffffff };
static inline uint32_t claim_tile(struct sync *sync, struct claimer *claimer, uint32_t count) {
    for (; claimer->visited < claimer->slices; claimer->visited++) {
        const uint32_t turn = claimer->own + claimer->visited;
        const uint32_t slice = turn < claimer->slices ? turn : turn - claimer->slices;
        const uint32_t begin = (uint32_t)((uint64_t)count * slice / claimer->slices);
        const uint32_t size = (uint32_t)((uint64_t)count * (slice + 1) / claimer->slices) - begin;
        if (size == 0) continue;
        const int is_own = claimer->visited == 0;
        const uint64_t taken = atomic_add64(claims_of(sync, slice), is_own ? 1 : (uint64_t)1 << 32);
        const uint32_t front = (uint32_t)taken, back = (uint32_t)(taken >> 32);
        if (front + back < size) return begin + (is_own ? front : size - 1 - back);
    }
    return NO_TILE;
}

static inline void poison_all(struct sync *sync) {
    atomic_write(&sync->poison, 1);
    wake_all(&sync->generation);
    wake_all(&sync->command);
}

/* Waits for the barrier to open. Each sleep lasts at most a second, to notice a thread that died. */
static inline void sleep_at_barrier(struct sync *sync, uint32_t generation) {
    uint32_t quiet = 0, last = 0;
    while ((atomic_read(&sync->generation) & ~SLEEPER) == generation && !atomic_read(&sync->poison)) {
        uint32_t progress = atomic_read(&sync->arrived);
        for (uint32_t slice = 0; slice < SLICES; slice++) {
            const uint32_t *claims = (const uint32_t *)claims_of(sync, slice);
            progress += atomic_read(claims) + atomic_read(claims + 1);
        }
        quiet = progress == last ? quiet + 1 : 0;
        last = progress;
        if (quiet > PATIENCE_SECONDS) return poison_all(sync);
        /* If the barrier opens in between, the bit only causes a needless wake at the next opening. */
        atomic_set_bits(&sync->generation, SLEEPER);
        sleep_while(&sync->generation, generation | SLEEPER, 1000000000);
    }
}

/* Returns 0 when all `threads` have arrived, 1 when the pool is poisoned. The last thread to arrive resets the tile
   counters. */
static inline uint32_t barrier(struct sync *sync, uint32_t threads) {
    const uint32_t generation = atomic_read(&sync->generation) & ~SLEEPER;
    if (atomic_increment(&sync->arrived) + 1 == threads) {
        for (uint32_t slice = 0; slice < slice_count(threads); slice++) atomic_write64(claims_of(sync, slice), 0);
        atomic_write(&sync->arrived, 0);
        if (atomic_swap(&sync->generation, generation + 2) & SLEEPER) wake_all(&sync->generation);
        return atomic_read(&sync->poison);
    }
    uint32_t spins = 0;
    while ((atomic_read(&sync->generation) & ~SLEEPER) == generation) {
        if (++spins > SPINS) {
            sleep_at_barrier(sync, generation);
            break;
        }
    }
    return atomic_read(&sync->poison);
}

/* Waits until `command` is no longer `seen` and returns it. Returns at once when the pool is poisoned. */
static inline uint32_t next_command(struct sync *sync, uint32_t seen) {
    for (uint32_t spins = 0; spins < SPINS; spins++) {
        const uint32_t command = atomic_read(&sync->command);
        if (command != seen) return command;
    }
    while (atomic_read(&sync->command) == seen && !atomic_read(&sync->poison)) {
        sleep_while(&sync->command, seen, 1000000000);
    }
    return atomic_read(&sync->command);
}
#endif
