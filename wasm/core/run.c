/* run.c: walks the plan. In: a sync block, op records, a step. Out: the computed step, by one thread or by all.
 *
 *   thread 0 (TypeScript): writes plan, step, first, last, threads to the sync block, increments and notifies
 *   `command`,
 *                          calls run(..., 0, threads)
 *   threads 1..            wait in serve() and call run() with the same fields
 *   every op               threads claim tiles one by one (sync.h), then meet at a barrier. The last op ends with one
 *                          too: results are then complete when run() returns, and the sync block is as before
 *
 * Every worker in serve() takes part in every run: `threads` is their number plus one. A sync block starts as zeros. */
#include "core/kernel.h"
#include "simd/simd.h"
#include "core/sync.h"

#define EXPORT(name) __attribute__((export_name(name)))

/* EACH_KERNEL: every op and its kernel. `plain` kernels have one form, `dots` kernels have quads, pairs and products,
 * `dense` kernels have wide as well. EACH_SECOND_ROUND: ops with a second round, whose tiles read what the tiles
 * of the first wrote. The build generates both from the lines `kernel:` and `second round:` of the C files. */
#include "kernels.h"

#define DECLARE_PLAIN(code, name) extern const struct kernel name;
#define DECLARE_DOTS(code, name) extern const struct kernel name, WITH_PAIRS(name), WITH_PRODUCTS(name);
#define DECLARE_DENSE(code, name) extern const struct kernel name, WITH_PAIRS(name), WITH_WIDE(name), WITH_PRODUCTS(name);
EACH_KERNEL(DECLARE_PLAIN, DECLARE_DOTS, DECLARE_DENSE)
EACH_SECOND_ROUND(DECLARE_PLAIN, DECLARE_DOTS)

#define QUADS(code, name) [code] = &name,
#define PAIRS(code, name) [code] = &WITH_PAIRS(name),
#define WIDE(code, name) [code] = &WITH_WIDE(name),
#define PRODUCTS(code, name) [code] = &WITH_PRODUCTS(name),
/* Indexed by enum dot_form and enum op_code. */
static const struct kernel *const kernels[DOT_FORMS][OP_COUNT] = {
    {EACH_KERNEL(QUADS, QUADS, QUADS)}, {EACH_KERNEL(QUADS, PAIRS, PAIRS)}, {EACH_KERNEL(QUADS, QUADS, WIDE)},
    {EACH_KERNEL(QUADS, PRODUCTS, PRODUCTS)}};
static const struct kernel *const second_rounds[DOT_FORMS][OP_COUNT] = {
    {EACH_SECOND_ROUND(QUADS, QUADS)}, {EACH_SECOND_ROUND(QUADS, PAIRS)}, {EACH_SECOND_ROUND(QUADS, QUADS)},
    {EACH_SECOND_ROUND(QUADS, PRODUCTS)}};

/* The form of the dots plus 1; 0 until the first run detects the best form. Tests set it. */
static uint32_t chosen_dots;
void choose_dots(uint32_t form) { chosen_dots = form + 1; }
uint32_t dots_in_use(void) { return chosen_dots - 1; }

/* Computes all tiles of one round, then waits at the barrier. Returns 1 when the pool is poisoned. */
static uint32_t run_tiles(const struct kernel *kernel, struct sync *sync, const struct op *op, const struct step *step,
                          uint32_t thread, uint32_t threads) {
    const uint32_t count = kernel->tiles(op, step);
    if (threads == 1) {
        for (uint32_t t = 0; t < count; t++) kernel->tile(op, step, t);
        return 0;
    }
    struct claimer claims = claimer(thread, threads);
    for (uint32_t t; (t = claim_tile(sync, &claims, count)) != NO_TILE;) {
        if (atomic_read(&sync->poison)) return 1;
        kernel->tile(op, step, t);
    }
    return barrier(sync, threads);
}

/* Returns 0 when done, and 1 when poisoned: the results are then incomplete, and the pool must not be used again. */
EXPORT("run")
uint32_t run(struct sync *sync, const uint8_t *plan, const struct step *step, uint32_t first, uint32_t last,
             uint32_t thread, uint32_t threads) {
    if (chosen_dots == 0) choose_dots(best_dots()); /* every thread finds the same form */
    for (uint32_t i = first; i < last; i++) {
        const struct op *op = (const struct op *)(plan + i * OP_BYTES);
        if (op->code >= OP_COUNT) {
            poison_all(sync);
            return 1;
        }
        if (run_tiles(kernels[chosen_dots - 1][op->code], sync, op, step, thread, threads)) return 1;
        const struct kernel *second = second_rounds[chosen_dots - 1][op->code];
        if (second && second->tiles(op, step) && run_tiles(second, sync, op, step, thread, threads)) return 1;
    }
    return 0;
}

/* The loop of a compute worker. Returns when the pool quits or is poisoned. */
EXPORT("serve")
void serve(struct sync *sync, uint32_t thread) {
    for (uint32_t seen = 0;;) {
        seen = next_command(sync, seen);
        if (atomic_read(&sync->quit) || atomic_read(&sync->poison)) return;
        if (run(sync, AT(const uint8_t *, sync->plan), AT(const struct step *, sync->step), sync->first, sync->last,
                thread, sync->threads)) {
            return;
        }
    }
}

/* Called for a thread that died. run() then returns 1 on all others. */
EXPORT("poison")
void poison(struct sync *sync) { poison_all(sync); }

EXPORT("abi_version")
uint32_t abi_version(void) { return ABI_VERSION; }
