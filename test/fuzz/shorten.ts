// Shorter ONNX exports. In: a two-layer decoder as an exporter wrote it. Out: the same file with one layer
// and short names, which takes less time to read.
import {
  ATTRIBUTE,
  GRAPH,
  INPUT,
  INPUT_VALUE,
  messageOf,
  NODE,
  NODE_NAME,
  OP,
  OUTPUT,
  OUTPUT_VALUE,
  type Part,
  part,
  partsOf,
  TENSOR,
  TENSOR_NAME,
  textOf,
  textsOf,
} from './mutate/proto-parts.ts'

/** Exporters' names of the second layer's values; the same names with 0 are the first layer's. */
const SECOND_LAYER = /layers?\.?1(?=[./])/
/** The second layer's states among inputs and outputs. */
const SECOND_STATE = /\.1(\.|$)/

/** Throws for a file whose outputs depend on something that was removed. */
export function shortened(bytes: Uint8Array): Uint8Array {
  const model = partsOf(bytes)
  const at = model.findIndex(({ number }) => number === GRAPH)
  const graph = renamed(withConstants(withOneLayer(partsOf(model[at]!.value))))
  return messageOf(model.with(at, part(GRAPH, messageOf(graph))))
}

const ATTRIBUTE_TENSOR = 5
const VALUE_INFO = 13
const GRAPH_DOC = 10
const NODE_DOC = 6

const nameOf = ({ value }: Part, number: number): string => textsOf(partsOf(value), number)[0] ?? ''

/** Makes nodes that read values of the second layer read those of the first. */
function withOneLayer(graph: readonly Part[]): Part[] {
  const toFirst = (name: string) => name.replace(SECOND_LAYER, (found) => found.replace('1', '0'))
  const isState = (each: Part) =>
    (each.number === INPUT_VALUE || each.number === OUTPUT_VALUE) && SECOND_STATE.test(nameOf(each, 1))
  const kept = graph.filter((each) => !isState(each))
  const made = kept.map((each): Part => {
    if (each.number !== NODE) return each
    const fields = partsOf(each.value)
    if (textsOf(fields, OUTPUT).some((name) => SECOND_LAYER.test(name))) return each
    return part(
      NODE,
      messageOf(
        fields.map((field) => (field.number === INPUT ? part(INPUT, toFirst(textOf(field))) : field)),
      ),
    )
  })
  return withoutDead(made)
}

/** Removes nodes and constants that no output needs. */
function withoutDead(graph: readonly Part[]): Part[] {
  const makers = new Map<string, readonly Part[]>()
  for (const each of graph) {
    if (each.number !== NODE) continue
    const fields = partsOf(each.value)
    for (const name of textsOf(fields, OUTPUT)) makers.set(name, fields)
  }
  const needed = new Set(graph.filter(({ number }) => number === OUTPUT_VALUE).map((each) => nameOf(each, 1)))
  for (const name of needed) for (const read of textsOf(makers.get(name) ?? [], INPUT)) needed.add(read)
  return graph.filter((each) => {
    if (each.number === NODE) return textsOf(partsOf(each.value), OUTPUT).some((name) => needed.has(name))
    return each.number !== TENSOR || needed.has(nameOf(each, TENSOR_NAME))
  })
}

/** Turns nodes that only contain a tensor into constants of the graph, as in other exporters' files. */
function withConstants(graph: readonly Part[]): Part[] {
  return graph.map((each): Part => {
    const fields = each.number === NODE ? partsOf(each.value) : []
    if (textsOf(fields, OP)[0] !== 'Constant') return each
    const attribute = partsOf(fields.find(({ number }) => number === ATTRIBUTE)!.value)
    const tensor = attribute.find(({ number }) => number === ATTRIBUTE_TENSOR)
    if (tensor === undefined) return each
    const named = partsOf(tensor.value).filter(({ number }) => number !== TENSOR_NAME)
    return part(TENSOR, messageOf([...named, part(TENSOR_NAME, textsOf(fields, OUTPUT)[0]!)]))
  })
}

/** Inputs and outputs keep their names, which carry meaning. Removes documentation. */
function renamed(whole: readonly Part[]): Part[] {
  const graph = whole.filter(({ number }) => number !== VALUE_INFO && number !== GRAPH_DOC)
  const isOuter = ({ number }: Part) => number === INPUT_VALUE || number === OUTPUT_VALUE
  const outer = new Set(graph.filter(isOuter).map((each) => nameOf(each, 1)))
  const names = new Map<string, string>()
  const short = (name: string): string => {
    if (name === '' || outer.has(name)) return name
    const known = names.get(name) ?? `v${names.size}`
    names.set(name, known)
    return known
  }
  return graph.map((each): Part => {
    if (each.number !== NODE && each.number !== TENSOR) return each
    const isNode = each.number === NODE
    const numbers = isNode ? [INPUT, OUTPUT] : [TENSOR_NAME]
    const fields = partsOf(each.value).filter(
      ({ number }) => !isNode || (number !== NODE_NAME && number !== NODE_DOC),
    )
    const made = fields.map((field) =>
      numbers.includes(field.number) ? part(field.number, short(textOf(field))) : field,
    )
    return part(each.number, messageOf(made))
  })
}
