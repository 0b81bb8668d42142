// JSON syntax trees. In: JSON text. Out: a tree, which unlike a parsed value can have duplicate keys, 1e999
// or `__proto__`, and its text.

/** Raw text in place of a value. */
export class Raw {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** An object with its keys in order; keys may occur twice. */
export class Pairs {
  readonly entries: readonly (readonly [string, Tree])[]

  constructor(entries: readonly (readonly [string, Tree])[]) {
    this.entries = entries
  }
}

export type Tree = string | number | boolean | null | Raw | Pairs | readonly Tree[]

export const treeOf = (value: unknown): Tree => {
  if (Array.isArray(value)) return value.map(treeOf)
  if (typeof value === 'object' && value !== null) {
    return new Pairs(Object.entries(value).map(([key, item]) => [key, treeOf(item)]))
  }
  if (typeof value === 'number') return Number.isFinite(value) ? value : new Raw('1e999')
  return value === undefined || typeof value === 'bigint' ? null : (value as Tree)
}

/** Unmutated parts are serialised only once. */
const written = new WeakMap<object, string>()

export function textOfTree(tree: Tree): string {
  if (tree instanceof Raw) return tree.text
  if (typeof tree !== 'object' || tree === null) return JSON.stringify(tree)
  const known = written.get(tree)
  if (known !== undefined) return known
  const text = Array.isArray(tree)
    ? `[${tree.map(textOfTree).join()}]`
    : `{${(tree as Pairs).entries.map(([key, item]) => `${JSON.stringify(key)}:${textOfTree(item)}`).join()}}`
  written.set(tree, text)
  return text
}

/** A tree's child by its index, or undefined. */
export function childOf(tree: Tree, place: number): Tree | undefined {
  if (tree instanceof Pairs) return tree.entries[place]?.[1]
  return Array.isArray(tree) ? (tree as readonly Tree[])[place] : undefined
}

export function childrenIn(tree: Tree): number {
  if (tree instanceof Pairs) return tree.entries.length
  return Array.isArray(tree) ? tree.length : 0
}

/** The tree with that child replaced. The copy shares the rest. */
export function withChild(tree: Tree, place: number, child: Tree): Tree {
  if (tree instanceof Pairs) {
    return new Pairs(tree.entries.map((entry, index) => (index === place ? [entry[0], child] : entry)))
  }
  return Array.isArray(tree)
    ? (tree as readonly Tree[]).map((item, index) => (index === place ? child : item))
    : tree
}
