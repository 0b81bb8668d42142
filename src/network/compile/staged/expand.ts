// Sequences and absent values among a graph's inputs. Programs have one input for each tensor of a sequence;
// a node at the beginning of the graph joins them, which passes remove again.
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { Graph, Input, Node } from '../../onnx/ir/graph.ts'
import type { Tensor } from '../../onnx/ir/tensor.ts'
import { NONE } from '../../onnx/ir/values.ts'
import { namesIn } from '../../onnx/passes/branches.ts'

type Values = ReadonlyMap<string, Tensor>

const partOf = (name: string, at: number): string => `${name}[${at}]`

const isWhole = (value: Tensor | undefined): boolean => value?.items === undefined && value?.dtype !== 'none'

/** The values of a run's inputs; an optional one that is missing is absent. */
export function givenValues(inputs: readonly Input[], feeds: Values): Values {
  const absent = inputs.filter(({ name, isOptional }) => isOptional && !feeds.has(name))
  return new Map([...feeds, ...absent.map(({ name }) => [name, NONE] as const)])
}

/** The values, and the tensors of each sequence under names of their own. */
export function expandedValues(values: Values): Map<string, Tensor> {
  const all = new Map(values)
  for (const [name, { items }] of values)
    for (const [at, item] of items?.entries() ?? []) all.set(partOf(name, at), item)
  return all
}

/** The graph with inputs for `expandedValues`. Throws `format` if it uses one of their names. */
export function expandedGraph(graph: Graph, values: Values): Graph {
  const others = graph.inputs.filter(({ name }) => !isWhole(values.get(name)))
  if (others.length === 0 && !graph.inputs.some(({ isOptional }) => isOptional)) return graph
  const names = new Set(namesIn(graph))
  const inputs = graph.inputs.flatMap((input): Input[] => {
    const value = values.get(input.name)
    if (isWhole(value)) return [{ name: input.name, type: input.type }]
    return (value?.items ?? []).map(({ dtype, dims }, at) => {
      const name = partOf(input.name, at)
      if (names.has(name))
        throw new HalfbyteError(
          'format',
          `the name ${name} has a value, and is that of an element of the input ${input.name}; rename one of them`,
          { name },
        )
      return { name, type: { dtype, dims } }
    })
  })
  const nodes = others.map(({ name }) => joining(name, values.get(name)?.items))
  return { ...graph, inputs, nodes: [...nodes, ...graph.nodes] }
}

/** The first opset with optional values. */
const VERSION = 15

function joining(name: string, items: readonly Tensor[] | undefined): Node {
  const op = items === undefined ? 'Optional' : items.length === 0 ? 'SequenceEmpty' : 'SequenceConstruct'
  const inputs = items?.map((_, at) => partOf(name, at)) ?? []
  return { name, op, domain: '', version: VERSION, inputs, outputs: [name], attributes: new Map() }
}

/** A key of everything that a program depends on, like `keyOf`. */
export const keyOfValues = (inputs: readonly Pick<Input, 'name'>[], values: Values): string =>
  JSON.stringify(
    inputs.map(({ name }) => {
      const value = values.get(name)
      if (value?.items === undefined) return value?.dtype === 'none' ? null : value?.dims
      return { items: value.items.map(({ dtype, dims }) => [dtype, ...dims]) }
    }),
  )

/** A copy, which the caller may change or transfer. */
export const ownValue = (value: Tensor): Tensor =>
  value.items === undefined
    ? { ...value, data: value.data.slice() }
    : { ...value, items: value.items.map(ownValue) }
