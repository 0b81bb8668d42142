// The pass that splits merged linears so that each linear reads weights in one encoding.

import type { PackedEncoding } from '../../abi/encodings.ts'
import { isQuantized } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { Value, WeightPart, WeightRef } from '../ir.ts'
import { rowsOf } from '../node.ts'
import { type Graph, mapInputs, type Node, type NodeOf, nextId, readersOf } from '../nodes.ts'

/** The encoding that a weight will have in linear memory, by canonical name. */
export type EncodingOf = (name: string) => PackedEncoding

/** By canonical name of a matrix: the vector with the order of its inputs. Undefined: not reordered. */
export type OrderOf = (name: string) => string | undefined

/**
 * The single encoding of a weight. Throws `unsupported` if its parts differ and cannot be split, as with
 * experts.
 */
export function encodingOfWeight(weight: WeightRef, encodingOf: EncodingOf): PackedEncoding {
  if (weight.kind === 'vector') return 'f32'
  const [encoding, other] = new Set(weight.parts.map(({ name }) => encodingOf(name)))
  if (encoding !== undefined && other === undefined) return encoding
  const names = weight.parts.map(({ name }) => name).join(' + ')
  throw new HalfbyteError(
    'unsupported',
    `${names} are used together but stored as ${encoding} and ${other}; choose one precision with the weights option, or another file of the model`,
    { names, encodings: [String(encoding), String(other)] },
  )
}

/** True if the kernel of this linear reads a8 rows. */
export function readsA8(node: Node, encodingOf: EncodingOf): node is NodeOf<'linear' | 'linearExperts'> {
  const isLinear = node.op === 'linear' || node.op === 'linearExperts'
  return isLinear && isQuantized(encodingOfWeight(node.weight, encodingOf))
}

/** Splits merged linears. Neighbouring parts stay merged while their encodings and input orders agree. */
export function splitMixed(graph: Graph, encodingOf: EncodingOf, orderOf?: OrderOf): Graph {
  const readers = readersOf(graph)
  const replaced = new Map<number, Value>()
  const nodes: Node[] = []
  let id = nextId(graph)
  for (const [index, original] of graph.nodes.entries()) {
    const node = mapInputs(original, (value) => replaced.get(value.id) ?? value)
    if (replaced.has(outputId(original))) continue
    const runs = node.op === 'linear' ? encodingRuns(node.weight, encodingOf, orderOf) : []
    if (node.op !== 'linear' || runs.length < 2) {
      nodes.push(node)
      continue
    }
    const slices = (readers.get(node.output.id) ?? []).map((reader) => graph.nodes[reader])
    let start = 0
    for (const { first, parts } of runs) {
      const piece = part(node, first, parts, id++)
      const width = piece.output.shape[1]
      nodes.push(piece)
      for (const slice of slices) {
        if (slice?.op !== 'slice') throw unsliced(node, index)
        if (slice.start < start || slice.start >= start + width) continue
        if (slice.start + slice.width > start + width) throw unsliced(node, index)
        if (slice.width === width) {
          replaced.set(slice.output.id, piece.output)
        } else {
          nodes.push({ ...slice, input: piece.output, start: slice.start - start })
          replaced.set(slice.output.id, slice.output)
        }
      }
      start += width
    }
  }
  return { ...graph, nodes, output: replaced.get(graph.output.id) ?? graph.output }
}

const outputId = (node: Node): number => node.output?.id ?? -1

interface EncodingRun {
  /** Index of its first part. */
  readonly first: number
  readonly parts: WeightPart[]
  readonly encoding: PackedEncoding
  readonly order: string | undefined
}

function encodingRuns(weight: WeightRef, encodingOf: EncodingOf, orderOf?: OrderOf): EncodingRun[] {
  const runs: EncodingRun[] = []
  for (const [first, part] of weight.parts.entries()) {
    const encoding = encodingOf(part.name)
    const last = runs.at(-1)
    const order = orderOf?.(part.name)
    if (last?.encoding === encoding && last.order === order) last.parts.push(part)
    else runs.push({ first, parts: [part], encoding, order })
  }
  return runs
}

/** A linear with only some of a merged linear's parts. */
function part(node: NodeOf<'linear'>, first: number, parts: WeightPart[], id: number): NodeOf<'linear'> {
  const weight = { ...node.weight, parts }
  const bias = node.bias && { ...node.bias, parts: node.bias.parts.slice(first, first + parts.length) }
  const label = parts.map(({ name }) => name.replace(/\.weight$/, '')).join('+')
  return {
    ...node,
    weight,
    bias,
    output: { ...node.output, id, shape: [node.output.shape[0], rowsOf(weight)], label },
  }
}

function unsliced(node: NodeOf<'linear'>, index: number): HalfbyteError {
  return new HalfbyteError(
    'internal',
    `node ${index}, ${node.output.label}, has parts in several encodings but is not only read part by part`,
  )
}
