/* limit.h: values within a range. In: x, least <= most. Out: the nearest number in the range.           exact
 *
 *   y = least where x < least, most where x > most, else x. NaN stays NaN. */
#ifndef HALFBYTE_LIMIT_H
#define HALFBYTE_LIMIT_H
#include "simd/simd.h"

INLINE float limited__ref(float x, float least, float most) { return x < least ? least : most < x ? most : x; }
INLINE v128_t limited(v128_t x, v128_t least, v128_t most) { return wasm_f32x4_pmin(wasm_f32x4_pmax(x, least), most); }
#endif
