// Minimising. In: an input that shows a fault, and a test for the fault. Out: a smaller input that still
// shows it.
import { type Input, sizeOf } from '../input.ts'
import { childOf, childrenIn, Pairs, type Tree, textOfTree, treeOf, withChild } from './json-tree.ts'

/** Maximum attempts per input, and their maximum total time. */
const MAX_TRIES = 600
const MAX_MS = 8000

/**
 * Calls `shows` with smaller and smaller inputs. Each one that still shows the fault replaces the previous
 * one.
 */
export async function minimise(input: Input, shows: (input: Input) => Promise<boolean>): Promise<Input> {
  const end = performance.now() + MAX_MS
  let tries = 0
  let best = input
  const attempt = async (name: string, part: string | Uint8Array): Promise<boolean> => {
    if (tries >= MAX_TRIES || performance.now() > end) return false
    const smaller = { ...best, [name]: part }
    if (sizeOf(smaller) >= sizeOf(best)) return false
    tries += 1
    if (!(await shows(smaller))) return false
    best = smaller
    return true
  }
  for (let size = Number.POSITIVE_INFINITY; size > sizeOf(best); ) {
    size = sizeOf(best)
    for (const name of Object.keys(input)) {
      if (await attempt(name, typeof best[name] === 'string' ? '' : new Uint8Array(0))) continue
      const tree = parsed(best[name])
      if (tree !== undefined) await shrinkTree(tree, (smaller) => attempt(name, textOfTree(smaller)))
      else
        await shrinkRuns(
          () => best[name] as string | Uint8Array,
          (smaller) => attempt(name, smaller),
        )
    }
  }
  return best
}

/**
 * Returns undefined for anything but a JSON object or list, and for text with more than its parsed value,
 * such as a duplicate key.
 */
function parsed(part: string | Uint8Array | undefined): Tree | undefined {
  if (typeof part !== 'string' || !/^\s*[[{]/.test(part)) return undefined
  try {
    const tree = treeOf(JSON.parse(part))
    return childrenIn(tree) > 0 ? tree : undefined
  } catch {
    return undefined
  }
}

/** Removes keys and items, level by level. */
async function shrinkTree(tree: Tree, attempt: (smaller: Tree) => Promise<boolean>): Promise<void> {
  let best = tree
  const shrink = async (get: () => Tree, put: (child: Tree) => Tree): Promise<void> => {
    const tried = async (smaller: Tree): Promise<boolean> => {
      const whole = put(smaller)
      if (!(await attempt(whole))) return false
      best = whole
      return true
    }
    for (let width = childrenIn(get()); width >= 1; width = Math.floor(width / 2)) {
      for (let place = 0; place < childrenIn(get()); ) {
        if (!(await tried(cut(get(), place, width)))) place += width
      }
    }
    for (let place = 0; place < childrenIn(get()); place++) {
      const child = () => childOf(get(), place) as Tree
      await shrink(child, (smaller) => put(withChild(get(), place, smaller)))
    }
  }
  await shrink(
    () => best,
    (whole) => whole,
  )
}

function cut(tree: Tree, place: number, width: number): Tree {
  const isKept = (_: unknown, index: number) => index < place || index >= place + width
  if (tree instanceof Pairs) return new Pairs(tree.entries.filter(isKept))
  return Array.isArray(tree) ? (tree as readonly Tree[]).filter(isKept) : tree
}

/** Removes runs of characters or bytes, halving their length each time. */
async function shrinkRuns(
  get: () => string | Uint8Array,
  attempt: (smaller: string | Uint8Array) => Promise<boolean>,
): Promise<void> {
  for (let width = get().length >> 1; width >= 1; width >>= 1) {
    for (let at = 0; at < get().length; ) {
      const part = get()
      const smaller =
        typeof part === 'string'
          ? part.slice(0, at) + part.slice(at + width)
          : Uint8Array.from([...part.subarray(0, at), ...part.subarray(at + width)])
      if (!(await attempt(smaller))) at += width
    }
  }
}
