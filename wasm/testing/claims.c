/* claims.c: claims of tiles, for tests. In: a sync block, and the claimers of several threads, all run by one thread.
 * Out: the tile that each gets. */
#include "core/sync.h"

#define EXPORT(name) __attribute__((export_name(name)))

/* `to` has room for CLAIMER_BYTES. */
EXPORT("make_claimer") void make_claimer(struct claimer *to, uint32_t thread, uint32_t threads) {
    _Static_assert(sizeof(struct claimer) <= 32, "CLAIMER_BYTES of claims.test.ts");
    *to = claimer(thread, threads);
}
/* A tile of `count`, or -1 when there is none for this thread. */
EXPORT("claim") uint32_t claim(struct sync *sync, struct claimer *claimer, uint32_t count) {
    return claim_tile(sync, claimer, count);
}
