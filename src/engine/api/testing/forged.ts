// Forged values for tests. In: valid arguments of a public method. Out: the same with a part replaced by an
// invalid value, and how the method ended.
import fc from 'fast-check'
import { expect } from 'vitest'
import { isHalfbyteError } from '../../../core/base/errors.ts'

const throwing = (): never => {
  throw new RangeError('a trap of the page')
}

/** A value that throws on every access. */
const trapped = (target: object): unknown =>
  new Proxy(target, {
    get: throwing,
    has: throwing,
    ownKeys: throwing,
    getPrototypeOf: throwing,
    getOwnPropertyDescriptor: throwing,
    set: throwing,
  })

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable([], {})
  revoke()
  return proxy
}

function circular(): unknown {
  const value: Record<string, unknown> = {}
  value['self'] = [value]
  return value
}

function nested(levels: number): unknown {
  let value: unknown = 'x'
  for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { value }
  return value
}

/** Values that are created anew for each use. */
const PRIMITIVES: readonly (() => unknown)[] = [
  null,
  undefined,
  true,
  false,
  '',
  'x',
  'constructor',
  '__proto__',
  '\ud800',
  'x'.repeat(100_000),
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -1,
  0,
  0.5,
  300,
  1e9,
  2 ** 53,
  1e308,
  10n,
  Symbol('s'),
  () => 'called',
  async () => 'called',
  class {},
  /x/,
  new Date(Number.NaN),
].map((value) => () => value)

const MADE: readonly (() => unknown)[] = [
  ...PRIMITIVES,
  () => [],
  () => ({}),
  () => Object.create(null),
  () => new Map([[1, 2]]),
  () => new Uint8Array(8),
  () => new Array(2 ** 32 - 1),
  () => ({ length: 2 ** 32 }),
  () => [null],
  () => [undefined, 3, 'x'],
  () => ({ toString: 1, valueOf: 2 }),
  () => ({ toJSON: throwing, [Symbol.toPrimitive]: throwing }),
  () => JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": 1}}'),
  () => Object.defineProperty({}, 'role', { enumerable: true, get: throwing }),
  () => Object.create({ temperature: 0, system: 'inherited' }),
  () => new Proxy({}, {}),
  () => trapped({}),
  () => trapped([]),
  () => trapped(() => undefined),
  revoked,
  circular,
  () => nested(300),
  () => nested(20_000),
]

/** Paths into a value; the empty path is the value itself. */
function placesOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  const isPlain =
    Array.isArray(value) || (value !== null && Object.getPrototypeOf(Object(value)) === Object.prototype)
  const inner = isPlain && typeof value === 'object' ? Object.entries(value as object) : []
  return [path, ...inner.flatMap(([key, each]) => placesOf(each, [...path, key]))]
}

function replaced(value: unknown, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (key === undefined) return by
  if (Array.isArray(value) && value.length > 100) throw new RangeError('too long to be copied')
  const copy: unknown = Array.isArray(value) ? [...value] : { ...(value as object) }
  const held = copy as Record<string, unknown>
  held[key] = replaced(held[key], rest, by)
  return copy
}

/** A change to arguments: the path and the new value, or an additional option. Printable. */
export interface Forgery {
  readonly place: number
  readonly what: number
  readonly isAdded: boolean
}

/** One or two changes to arguments like these. */
function forgeries(valid: readonly unknown[]): fc.Arbitrary<Forgery[]> {
  const change = fc.record({
    place: fc.nat(placesOf(valid).length - 2),
    what: fc.nat(MADE.length - 1),
    isAdded: fc.boolean(),
  })
  return fc.array(change, { minLength: 1, maxLength: 2 })
}

export function forged(valid: readonly unknown[], changes: readonly Forgery[]): unknown[] {
  const places = placesOf(valid).slice(1)
  return changes.reduce<unknown[]>(
    (given, { place, what, isAdded }) => {
      const path = places[place] as readonly string[]
      const isOption = isAdded && path.length > 1
      try {
        return replaced(given, isOption ? [...path.slice(0, -1), 'added'] : path, MADE[what]!()) as unknown[]
      } catch {
        // The second place is inside the value of the first change.
        return given
      }
    },
    [...valid],
  )
}

type Loose = (...args: unknown[]) => unknown

export const methodOf = (object: unknown, name: string): Loose =>
  ((object as Record<string, Loose>)[name] as Loose).bind(object)

const RUNS = Number(process.env['FORGED_RUNS'] ?? 150)

/** Calls `act` with forgeries of `valid`. Fails if the outcome doesn't match `allowed`. */
export async function holds(
  valid: readonly unknown[],
  act: Loose,
  { end = endOf, allowed = /^(result|[a-z-]+)$/ } = {},
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(forgeries(valid), async (changes) => {
      expect(await end(() => act(...forged(valid, changes)))).toMatch(allowed)
    }),
    { numRuns: RUNS },
  )
}

/** `result`, or the error's code; anything else is a bug. */
export async function endOf(act: () => unknown): Promise<string> {
  try {
    await act()
    return 'result'
  } catch (error) {
    if (!isHalfbyteError(error)) return `untyped: ${(error as Error)?.stack ?? String(error)}`
    return error.code === 'internal' ? `internal: ${error.message}` : error.code
  }
}
