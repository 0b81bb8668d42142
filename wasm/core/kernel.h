/* kernel.h: the interface between a kernel and the plan runner. In: op records and the step. Out: tile counts and
 * tiles.
 *
 * A kernel owns no memory and no threads. tile(op, step, t) computes tile t of tiles(op, step). No two tiles of an op
 * write the same memory, and no tile reads memory that another tile of the same round writes. An op has one round or
 * two (run.c). */
#ifndef HALFBYTE_KERNEL_H
#define HALFBYTE_KERNEL_H
#include "core/abi.h"

struct kernel {
    uint32_t (*tiles)(const struct op *op, const struct step *step);
    void (*tile)(const struct op *op, const struct step *step, uint32_t t);
};

/* The rows of this step that an op works on. */
static inline uint32_t row_count(const struct op *op, const struct step *step) {
    if (op->rows >= ROWS_ROUTED) return step->tokens * (op->rows - ROWS_ROUTED);
    return op->rows == ROWS_LOGITS ? step->logit_count : step->tokens;
}

/* Sequence s of this step. */
static inline const struct sequence *sequence_at(const struct step *step, uint32_t s) {
    return (const struct sequence *)(uintptr_t)step->seqs + s;
}

/* Columns of one tile of the elementwise ops: a whole number of activation groups. */
enum { COLUMN_CHUNK = 1024 };
static inline uint32_t column_chunks(uint32_t n) { return (n + COLUMN_CHUNK - 1) / COLUMN_CHUNK; }

#define AT(type, address) ((type)(uintptr_t)(address))
#endif
