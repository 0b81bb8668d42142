// Reads a GraphProto: its nodes, attributes and types.
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { Message } from '../../../core/formats/protobuf.ts'
import { type Dim, dimFrom } from '../ir/dims.ts'
import {
  type Attribute,
  type Constant,
  type Graph,
  type Input,
  inOrder,
  type Node,
  type Type,
} from '../ir/graph.ts'
import { withoutOlderForms } from '../older-forms.ts'
import { dtypeOf, readTensorFields, tensorFrom } from './tensor-proto.ts'

/** The opset of each imported domain. */
export type Opsets = ReadonlyMap<string, number>

/** Maximum nodes and names in one file, across all its graphs. */
const MAX_NODES = 200_000
const MAX_NAMES = 1_000_000
const MAX_DOCUMENTATION = 2 ** 26

/** Counts over all graphs in a file. */
export class Counts {
  #nodes = 0
  #names = 0

  node(message: Message, names: number): void {
    this.#nodes++
    this.#names += names
    if (this.#nodes > MAX_NODES) throw message.wrong(`it has more than ${MAX_NODES} nodes`)
    if (this.#names > MAX_NAMES) throw message.wrong(`it has more than ${MAX_NAMES} names`)
  }
}

export const domainOf = (name: string): string => (name === 'ai.onnx' ? '' : name)

const opsetOf = (opsets: Opsets, domain: string): number => opsets.get(domain) ?? (domain === '' ? 0 : 1)

/** A graph in an attribute. */
function readGraph(message: Message, opsets: Opsets, counts: Counts): Graph {
  let name = ''
  const nodes: Node[] = []
  const constants = new Map<string, Constant>()
  const inputs: Input[] = []
  const outputs: string[] = []
  message.fields((field) => {
    if (field === 1) nodes.push(readNode(message.message(), opsets, counts))
    else if (field === 2) name = message.text()
    else if (field === 5) {
      const fields = readTensorFields(message.message())
      constants.set(fields.name, tensorFrom(message.file, fields))
    } else if (field === 11) inputs.push(readValue(message.message()))
    else if (field === 12) outputs.push(readValueName(message.message()))
    else if (field === 15) throw unsupportedPart(message.file, 'a sparse constant')
  })
  return withoutOlderForms({ name, nodes: inOrder(nodes), constants, inputs, outputs })
}

export function readNode(message: Message, opsets: Opsets, counts: Counts): Node {
  let name = ''
  let op = ''
  let domain = ''
  const inputs: string[] = []
  const outputs: string[] = []
  const attributes = new Map<string, Attribute>()
  message.fields((field) => {
    if (field === 1) inputs.push(message.text())
    else if (field === 2) outputs.push(message.text())
    else if (field === 3) name = message.text()
    else if (field === 4) op = message.text()
    else if (field === 5) {
      const read = readAttribute(message.message(), opsets, counts)
      if (read !== undefined) attributes.set(...read)
    } else if (field === 7) domain = domainOf(message.text())
  })
  counts.node(message, inputs.length + outputs.length)
  const shown = name === '' ? (outputs.find((output) => output !== '') ?? op) : name
  return { name: shown, op, domain, version: opsetOf(opsets, domain), inputs, outputs, attributes }
}

/** The numbers of AttributeProto.AttributeType. */
const TYPES = new Map<number, Attribute['kind']>([
  ...([
    [1, 'float'],
    [2, 'int'],
    [3, 'string'],
    [4, 'tensor'],
    [5, 'graph'],
    [6, 'floats'],
    [7, 'ints'],
  ] as const),
  [8, 'strings'],
])

function readAttribute(message: Message, opsets: Opsets, counts: Counts): [string, Attribute] | undefined {
  let name = ''
  let type = 0
  const values: { [K in Attribute['kind']]?: Extract<Attribute, { kind: K }>['value'] } = {}
  const [ints, floats, strings]: [number[], number[], string[]] = [[], [], []]
  let isType = false
  message.fields((field) => {
    if (field === 1) name = message.text()
    else if (field === 2) values.float = message.float()
    else if (field === 3) values.int = message.int()
    else if (field === 4) values.string = message.text(MAX_DOCUMENTATION)
    else if (field === 5) values.tensor = tensorFrom(message.file, readTensorFields(message.message()))
    else if (field === 6) values.graph = readGraph(message.message(), opsets, counts)
    else if (field === 7) message.floats(floats)
    else if (field === 8) message.ints(ints)
    else if (field === 9) strings.push(message.text())
    else if (field === 20) type = message.int()
    else if (field === 14) isType = true
    else if (field === 21) throw unsupportedPart(message.file, 'an attribute of a function')
    else if ([10, 11, 15, 22, 23].includes(field)) throw unsupportedPart(message.file, `attribute ${name}`)
  })
  // Only that of Optional, whose value is absent whatever its type is.
  if (isType) return undefined
  const kind = TYPES.get(type)
  if (kind === undefined) throw message.wrong(`attribute ${name} has type ${type}, which does not exist`)
  // Protobuf omits zeros and empty lists.
  const all = { int: 0, float: 0, string: '', ...values, ints, floats, strings }
  const value = all[kind]
  if (value === undefined) throw message.wrong(`attribute ${name} has no value of its type ${kind}`)
  return [name, { kind, value } as Attribute]
}

function readValueName(message: Message): string {
  let name = ''
  message.fields((field) => {
    if (field === 1) name = message.text()
  })
  return name
}

/**
 * A ValueInfoProto. Throws `unsupported` for anything other than a dense tensor, a sequence of such tensors
 * and an optional value of either.
 */
export function readValue(message: Message): Input {
  let input: Input = { name: '' }
  message.fields((field) => {
    if (field === 1) input = { ...input, name: message.text() }
    if (field === 2) input = { ...input, ...readType(message.message(), input.name) }
  })
  return input
}

/** The parts of a TypeProto. */
const TENSOR = 1
const SEQUENCE = 4
const DENOTATION = 6
const OPTIONAL = 9

function readType(message: Message, name: string): Omit<Input, 'name'> {
  let read: Omit<Input, 'name'> | undefined
  message.fields((field) => {
    if (field === DENOTATION) return
    if (field === TENSOR) read = { type: readTensorType(message.message(), name) }
    else if (field === SEQUENCE) {
      const { type: item, isOptional } = innerType(message.message(), name)
      if (isOptional || item?.dtype === 'sequence')
        throw unsupportedPart(message.file, `${name}, a sequence of values that are not tensors`)
      read = { type: { dtype: 'sequence', item } }
    } else if (field === OPTIONAL) read = { ...innerType(message.message(), name), isOptional: true }
    else throw unsupportedPart(message.file, `${name}, a value that is not a dense tensor`)
  })
  return read ?? { type: { dtype: dtypeOf(message.file, name, 0) } }
}

/** The type in a message that has nothing else. */
function innerType(message: Message, name: string): Omit<Input, 'name'> {
  let read: Omit<Input, 'name'> = {}
  message.fields((field) => {
    if (field === 1) read = readType(message.message(), name)
  })
  return read
}

function readTensorType(message: Message, name: string): Type {
  let elementType = 0
  let dims: Dim[] | undefined
  message.fields((part) => {
    if (part === 1) elementType = message.int()
    if (part === 2) dims = readShape(message.message(), name)
  })
  return { dtype: dtypeOf(message.file, name, elementType), dims }
}

/** What exporters write for sizes without a name: Paddle2ONNX `?`, others Python's None or -1. */
const UNNAMED: ReadonlySet<string> = new Set(['', '?', 'None', '-1'])

/** Each dim with neither size nor name gets its own symbol, because they may differ. */
function readShape(message: Message, name: string): Dim[] {
  const dims: Dim[] = []
  message.fields((field) => {
    if (field !== 1) return
    const dim = message.message()
    let size: Dim = dimFrom(`[${name} ${dims.length}]`)
    dim.fields((part) => {
      if (part === 1) {
        const stated = dim.int()
        if (stated >= 0) size = stated
      }
      if (part === 2) {
        const symbol = dim.text()
        if (!UNNAMED.has(symbol)) size = dimFrom(symbol)
      }
    })
    dims.push(size)
  })
  return dims
}

export function unsupportedPart(file: string, what: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `${file}: it has ${what}, which Halfbyte does not support; export the model without it, or as GGUF or safetensors`,
    { file },
  )
}
