/* sparse_kept: the positions of a mask's bits. In: 0..255. Out: a byte for each set bit, ascending: 4 times its
 * position. */
#include "sparse/sparse.h"

#define BIT(m, i) ((uint64_t)((m) >> (i) & 1))
#define BELOW(m, i) (__builtin_popcount((m) & ((1 << (i)) - 1)))
#define PLACE(m, i) (BIT(m, i) * (uint64_t)(4 * (i)) << 8 * BELOW(m, i))
#define KEPT1(m) (PLACE(m, 0) | PLACE(m, 1) | PLACE(m, 2) | PLACE(m, 3) | PLACE(m, 4) | PLACE(m, 5) | PLACE(m, 6) | PLACE(m, 7))
#define KEPT4(m) KEPT1(m), KEPT1(m + 1), KEPT1(m + 2), KEPT1(m + 3)
#define KEPT16(m) KEPT4(m), KEPT4(m + 4), KEPT4(m + 8), KEPT4(m + 12)
#define KEPT64(m) KEPT16(m), KEPT16(m + 16), KEPT16(m + 32), KEPT16(m + 48)

const uint64_t kept[256] = {KEPT64(0), KEPT64(64), KEPT64(128), KEPT64(192)};
