// The filters of 3 x 3 convolutions in tiles: G g G^T of each filter g, for lower/convolutions/tiles.ts. G
// has the rows [1, 0, 0], [1, 1, 1] / 2, [1, -1, 1] / 2 and [0, 0, 1].

/** Taps of a filter along an axis, and how many numbers replace them. */
const TAPS = 3
const PATCH = 4

/** `filters`: [count, channels, 3, 3]. Returns [16, channels, count]. */
export function tiledFilters(filters: Float32Array, channels: number, count: number): Float32Array {
  const item = channels * count
  const made = new Float32Array(PATCH * PATCH * item)
  // G g, by columns.
  const half = new Float64Array(PATCH * TAPS)
  // Filters come last in the result, so they are the inner loop.
  for (let channel = 0; channel < channels; channel++)
    for (let filter = 0; filter < count; filter++) {
      const from = (filter * channels + channel) * TAPS * TAPS
      for (let column = 0; column < TAPS; column++) {
        const first = filters[from + column]!
        const middle = filters[from + TAPS + column]!
        const last = filters[from + 2 * TAPS + column]!
        half[column] = first
        half[TAPS + column] = (first + middle + last) / 2
        half[2 * TAPS + column] = (first - middle + last) / 2
        half[3 * TAPS + column] = last
      }
      for (let row = 0; row < PATCH; row++) {
        const to = row * PATCH * item + channel * count + filter
        const first = half[row * TAPS]!
        const middle = half[row * TAPS + 1]!
        const last = half[row * TAPS + 2]!
        made[to] = first
        made[to + item] = (first + middle + last) / 2
        made[to + 2 * item] = (first - middle + last) / 2
        made[to + 3 * item] = last
      }
    }
  return made
}
