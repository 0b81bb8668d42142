// Routes in a test's memory: see op_route in wasm/core/abi.h.
import type { Machine } from './machine.ts'

/** Words of a route to `places` places. */
export const routeWords = (experts: number, places: number): number => 2 * (experts + 1) + 3 * places

/**
 * A route that assigns places `starts[e]` to `starts[e + 1] - 1` to expert e; its last number is the count of
 * places. Places have neither rows nor weights.
 */
export function layRoute(machine: Machine, starts: readonly number[]): number {
  const experts = starts.length - 1
  const active = [...Array(experts).keys()].filter((e) => starts[e]! < starts[e + 1]!)
  const unused = Array<number>(experts - active.length + 3 * starts[experts]!).fill(0)
  return machine.words([...starts, active.length, ...active, ...unused])
}

export function routeIn(machine: Machine, route: number, experts: number, places: number) {
  const words = machine.u32.subarray(route / 4)
  const active = experts + 1
  const rowAt = active + 1 + experts
  const weights = route / 4 + rowAt + 2 * places
  return {
    starts: words.subarray(0, active),
    active: words.subarray(active + 1, active + 1 + words[active]!),
    rowAt: words.subarray(rowAt, rowAt + places),
    places: words.subarray(rowAt + places, rowAt + 2 * places),
    weights: machine.f32.subarray(weights, weights + places),
  }
}
