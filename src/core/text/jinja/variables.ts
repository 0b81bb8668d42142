// Variables of a template. In: its syntax tree. Out: the names that it reads and a caller can set.
import type { parse } from './parser.ts'

/** Names that exist in every template, or that a tag creates. */
const MADE: readonly string[] = ['loop', 'caller', 'varargs', 'kwargs', 'self']

/**
 * Names that the template reads and that a caller can set: the template never sets them, or only if the
 * caller did not, because it tests whether they are defined, has a default for them, or reads them before
 * setting them. Macros may be defined before the variables that they read.
 */
export function freeNames(template: ReturnType<typeof parse>): ReadonlySet<string> {
  const names = new Names()
  names.read(template)
  return names.free()
}

class Names {
  readonly #reads = new Set<string>()
  readonly #asked = new Set<string>()
  readonly #set = new Set<string>()
  /** Names of loops, parameters and macros. */
  readonly #own = new Set(MADE)
  #macros = 0

  free(): ReadonlySet<string> {
    const isFree = (name: string) => this.#asked.has(name) || !this.#set.has(name)
    return new Set([...this.#reads].filter((name) => isFree(name) && !this.#own.has(name)))
  }

  /** Every part of the tree, in source order. */
  read(part: unknown): void {
    if (Array.isArray(part)) for (const each of part) this.read(each)
    else if (typeof part === 'object' && part !== null) this.#readNode(part as Node)
  }

  #readNode(node: Node): void {
    const { type, name, object, target, parameters } = node
    if (type === 'name') {
      this.#reads.add(name as string)
      if (this.#macros === 0 && !this.#set.has(name as string)) this.#asked.add(name as string)
      return
    }
    const asks = (type === 'test' || type === 'filter') && (name === 'defined' || name === 'default')
    if (asks && (object as Node).type === 'name') this.#asked.add((object as Node).name as string)
    if (type === 'macro') this.#own.add(name as string)
    if (Array.isArray(parameters)) for (const { name } of parameters) this.#own.add(name)
    if (type === 'for') this.#name(target, this.#own)
    if (type === 'with') for (const [each] of node['values'] as [unknown][]) this.#name(each, this.#own)
    const isMacro = type === 'macro' || type === 'callBlock'
    if (isMacro) this.#macros++
    for (const [key, value] of Object.entries(node)) {
      if (key === 'target' || (type === 'with' && key === 'values')) continue
      this.read(value)
    }
    if (type === 'with') for (const [, value] of node['values'] as [unknown, unknown][]) this.read(value)
    if (isMacro) this.#macros--
    if (type === 'set' || type === 'setBlock') this.#name(target, this.#set)
  }

  /** Adds the names in a target. */
  #name(target: unknown, to: Set<string>): void {
    const { type, name, items } = target as Node
    if (type === 'name') to.add(name as string)
    if (Array.isArray(items)) for (const each of items) this.#name(each, to)
  }
}

interface Node {
  readonly type?: unknown
  readonly name?: unknown
  readonly object?: unknown
  readonly target?: unknown
  readonly parameters?: unknown
  readonly items?: unknown
  readonly [key: string]: unknown
}
