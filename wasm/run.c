/* run.c: walks the plan. In: a sync block, op records, a step. Out: the step computed, by one thread or by all.
 *
 *   thread 0 (TypeScript): writes plan, step, first, last, threads to the sync block, bumps and notifies `command`,
 *                          calls run(..., 0, threads)
 *   threads 1..            sit in serve() and call run() with the same fields
 *   every op               tiles are claimed one by one (sync.h); then a barrier, also after the last op, so that
 *                          results are complete when run() returns and the sync block is as it was
 *
 * Every worker in serve() takes part in every run: `threads` is their number plus one. A sync block starts as zeros. */
#include "kernel.h"
#include "simd.h"
#include "sync.h"

#define EXPORT(name) __attribute__((export_name(name)))

#define WITH_QUADS(name) name
extern const struct kernel DOT_KERNELS(WITH_QUADS), DOT_KERNELS(WITH_PAIRS), DENSE_KERNELS(WITH_WIDE);
/* `form` names a kernel in the form of the dot that the table is for, `dense` one that has the wide form too. */
#define KERNELS(form, dense)                                            \
    {                                                                   \
        [OP_EMBED] = &embed,                                            \
        [OP_RMSNORM] = &rmsnorm,                                        \
        [OP_QUANTIZE] = &quantize,                                      \
        [OP_LINEAR_F32] = &linear_f32,                                  \
        [OP_LINEAR_F16] = &linear_f16,                                  \
        [OP_LINEAR_BF16] = &linear_bf16,                                \
        [OP_LINEAR_W8A8_G32] = &dense(linear_w8a8_g32),                 \
        [OP_LINEAR_W4A8_G32] = &dense(linear_w4a8_g32),                 \
        [OP_LINEAR_W4MA8_G32] = &dense(linear_w4ma8_g32),               \
        [OP_ROPE_KV] = &rope_kv,                                        \
        [OP_ATTENTION] = &form(attention),                              \
        [OP_SWIGLU] = &swiglu,                                          \
        [OP_ADD] = &add_rows,                                           \
        [OP_LINEAR_SWIGLU_W8A8_G32] = &dense(linear_swiglu_w8a8_g32),   \
        [OP_LINEAR_SWIGLU_W4A8_G32] = &dense(linear_swiglu_w4a8_g32),   \
        [OP_LINEAR_SWIGLU_W4MA8_G32] = &dense(linear_swiglu_w4ma8_g32), \
        [OP_SHIFT_KV] = &shift_kv,                                      \
        [OP_LINEAR_SPARSE] = &form(linear_sparse),                      \
        [OP_LINEAR_SWIGLU_SPARSE] = &form(linear_swiglu_sparse),        \
        [OP_CONV1D] = &conv1d,                                          \
        [OP_SCAN] = &scan,                                              \
        [OP_SSD] = &ssd,                                                \
        [OP_LAYERNORM] = &layernorm,                                    \
        [OP_RESCALE] = &rescale_rows,                                   \
        [OP_ROUTE] = &route_rows,                                       \
        [OP_GATHER] = &gather_rows,                                     \
        [OP_LINEAR_EXPERTS] = &dense(linear_experts),                   \
        [OP_COMBINE] = &combine_rows,                                   \
        [OP_CHECK_PARTS] = &check_parts,                                \
        [OP_RENORM] = &renorm,                                          \
        [OP_LINEAR_W4A8_CHANNEL] = &form(linear_w4a8_channel),          \
    }
/* By enum dot_form. */
static const struct kernel *const kernels[DOT_FORMS][OP_COUNT] = {
    KERNELS(WITH_QUADS, WITH_QUADS), KERNELS(WITH_PAIRS, WITH_PAIRS), KERNELS(WITH_QUADS, WITH_WIDE)};

/* The form of the dots plus 1; 0 until the first run asks the machine. Tests choose for themselves. */
static uint32_t chosen_dots;
void choose_dots(uint32_t form) { chosen_dots = form + 1; }
uint32_t dots_in_use(void) { return chosen_dots - 1; }

/* Some ops have a second round, whose tiles read what the first ones wrote. */
#define SECOND_ROUNDS(form) {[OP_ATTENTION] = &form(attention_merge), [OP_ROUTE] = &route_sort}
static const struct kernel *const second_rounds[DOT_FORMS][OP_COUNT] = {
    SECOND_ROUNDS(WITH_QUADS), SECOND_ROUNDS(WITH_PAIRS), SECOND_ROUNDS(WITH_QUADS)};

/* All tiles of one round, and the barrier behind them. 1: poisoned. */
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

/* 0: done. 1: poisoned, results are incomplete and the pool must not be used again. */
EXPORT("run")
uint32_t run(struct sync *sync, const uint8_t *plan, const struct step *step, uint32_t first, uint32_t last,
             uint32_t thread, uint32_t threads) {
    if (chosen_dots == 0) choose_dots(best_dots()); /* every thread finds the same */
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

/* A compute worker's life: returns when the pool quits or is poisoned. */
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

/* Called for a thread that died: everyone else leaves run() with 1. */
EXPORT("poison")
void poison(struct sync *sync) { poison_all(sync); }

EXPORT("abi_version")
uint32_t abi_version(void) { return ABI_VERSION; }
