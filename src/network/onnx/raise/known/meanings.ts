// The meaning of each translated value, and the rows that it represents.
import type { Value } from '../../../../core/graph/ir.ts'
import type { Node } from '../../ir/graph.ts'
import { unclaimed } from '../../ir/operator.ts'
import type { Meaning } from '../meaning.ts'

export class Meanings {
  readonly #meanings = new Map<string, Meaning>()
  /** Rows created for meanings that were still unresolved when they were first read. */
  readonly #made = new Map<Meaning, Value>()
  readonly #make: (meaning: Meaning, label: string) => Value | undefined

  /**
   * `make` creates the nodes of an unresolved meaning; it returns undefined if that does not result in rows.
   */
  constructor(make: (meaning: Meaning, label: string) => Value | undefined) {
    this.#make = make
  }

  has(name: string): boolean {
    return this.#meanings.has(name)
  }

  of(name: string): Meaning | undefined {
    return this.#meanings.get(name)
  }

  /** The meaning of a node's input; undefined if it is omitted. */
  read(node: Node, index: number): Meaning | undefined {
    const name = node.inputs[index] ?? ''
    return name === '' ? undefined : this.of(name)
  }

  name(name: string, meaning: Meaning): void {
    this.#meanings.set(name, meaning)
  }

  set(node: Node, output: number, meaning: Meaning): void {
    const name = node.outputs[output] ?? ''
    if (name !== '') this.name(name, meaning)
  }

  setRows(node: Node, output: number, value: Value): void {
    this.set(node, output, { is: 'rows', value })
  }

  /** The rows of an input. Throws `unsupported` for anything else. */
  rows(node: Node, index: number): Value {
    const meaning = this.read(node, index)
    const value = meaning && this.#rowsOf(meaning, node.name)
    if (value !== undefined) return value
    throw unclaimed(
      node,
      `its input ${index} is ${meaning?.is ?? 'omitted'}, but rows of tokens are required`,
    )
  }

  isRows(node: Node, index: number): boolean {
    const is = this.read(node, index)?.is
    return is === 'rows' || is === 'gate' || is === 'normed' || is === 'scaled'
  }

  /** Creates the nodes of an unresolved meaning once, however many nodes read it. */
  #rowsOf(meaning: Meaning, label: string): Value | undefined {
    if (meaning.is === 'rows') return meaning.value
    const known = this.#made.get(meaning)
    if (known !== undefined) return known
    const value = this.#make(meaning, label)
    if (value !== undefined) this.#made.set(meaning, value)
    return value
  }
}
