// What is known about the types of a graph's values, from inference and from handlers.
import { inferAgain, inferTypes, type Types } from '../../infer.ts'
import type { Dim } from '../../ir/dims.ts'
import { type Graph, isStored, type Node, type Type } from '../../ir/graph.ts'

export class KnownTypes {
  readonly #graph: Graph
  readonly #types: Map<string, Type>
  /** Whether handlers have learned more than inference knew. */
  #hasLearned = false

  constructor(graph: Graph) {
    this.#graph = graph
    this.#types = new Map(inferTypes(graph))
  }

  /** The type of each value, as far as it is known. */
  get all(): Types {
    return this.#types
  }

  get(name: string): Type | undefined {
    return this.#types.get(name)
  }

  /** Dims of an output; undefined if they are unknown. */
  dims(node: Node, output = 0): readonly Dim[] | undefined {
    return this.get(node.outputs[output] ?? '')?.dims
  }

  /** A constant input that is a single number. */
  scalar(node: Node, index: number): number | undefined {
    const constant = this.#graph.constants.get(node.inputs[index] ?? '')
    if (constant === undefined || isStored(constant) || constant.data.length !== 1) return undefined
    return Number(constant.data[0])
  }

  /** An input's integers, if inference knows them. */
  numbers(node: Node, index: number): readonly number[] | undefined {
    const elements = this.get(node.inputs[index] ?? '')?.elements
    return elements?.every((each) => typeof each === 'number') ? (elements as number[]) : undefined
  }

  /** Records that an output has the shape of an input, which inference does not know. */
  learnShape(node: Node, index: number): void {
    const type = this.get(node.inputs[index] ?? '')
    if (type?.dims !== undefined) this.learn(node, type)
  }

  /** Records the type of the first output. Does nothing if its shape is known. */
  learn(node: Node, type: Type): void {
    if (this.dims(node) !== undefined) return
    this.#types.set(node.outputs[0] ?? '', type)
    this.#hasLearned = true
  }

  /** Infers a node again if handlers have learned more. Returns whether it did. */
  inferAgain(node: Node): boolean {
    if (!this.#hasLearned || this.dims(node) !== undefined) return false
    inferAgain(this.#graph, this.#types, node)
    return true
  }
}
