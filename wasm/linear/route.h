/* route.h: where the parts of a route are; see op_route in abi.h. In: its address and sizes. Out: pointers.
 *
 *   |starts u32 [experts + 1]|active u32 [1 + experts]|row_at u32 [tokens * used]|places u32 [tokens][used]|
 *   |weights f32 [tokens][used]|          active: the number of experts with places, then these experts */
#ifndef HALFBYTE_ROUTE_H
#define HALFBYTE_ROUTE_H
#include "core/kernel.h"
#include "simd/simd.h"

/* The maximum of any layer. The check of configurations has the same number. */
enum { MAX_EXPERTS = 1024 };

struct route_parts { uint32_t *starts, *active, *row_at, *places; float *weights; };
/* count: tokens * used */
INLINE struct route_parts route_parts(uint32_t route, uint32_t experts, uint32_t count) {
    uint32_t *starts = AT(uint32_t *, route), *active = starts + experts + 1, *row_at = active + 1 + experts;
    return (struct route_parts){starts, active, row_at, row_at + count, (float *)(row_at + 2 * count)};
}
#endif
