// Files that a store keeps beside a model's own: its weights in the kernels' layout, and the plans of its
// graph. No server has them, and each is made again if it is missing.

const PACK = 'pack:auto:'
/** Followed by a hash of the plan's key, a colon, and the address of the graph. */
const PLAN = /^plan:[0-9a-f]{32}:/

/** The address of a model's pack. */
export const packAddress = (model: string): string => PACK + model

/** The address of a plan. `hash`: 32 hex digits. */
export const planAddress = (graph: string, hash: string): string => `plan:${hash}:${graph}`

export const isPlan = (address: string): boolean => PLAN.test(address)

/**
 * The address of the file that another was made from; undefined if the address is not that of such a file.
 */
export function madeFrom(address: string): string | undefined {
  if (address.startsWith(PACK)) return address.slice(PACK.length)
  const [prefix] = PLAN.exec(address) ?? []
  return prefix === undefined ? undefined : address.slice(prefix.length)
}
