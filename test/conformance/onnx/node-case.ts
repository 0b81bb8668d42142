// A node test of the ONNX standard. In: its folder, or a line of a file of cases. Out: whether the evaluator,
// or another way to compute, gives its outputs, or why it is not claimed.

import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import { Message } from '../../../src/core/formats/protobuf.ts'
import { inferTypes, type Types } from '../../../src/network/onnx/infer.ts'
import type { Dim } from '../../../src/network/onnx/ir/dims.ts'
import type { Graph, Input } from '../../../src/network/onnx/ir/graph.ts'
import { isFloat, numbersOf, reader, type Tensor } from '../../../src/network/onnx/ir/tensor.ts'
import { sequenceOf, textsOf } from '../../../src/network/onnx/ir/values.ts'
import { readValue } from '../../../src/network/onnx/proto/graph-proto.ts'
import { readTensorFields, tensorFrom } from '../../../src/network/onnx/proto/tensor-proto.ts'
import { type OnnxModel, readModel } from '../../../src/network/onnx/read-model.ts'
import { evaluate } from './verify/evaluate.ts'

export type Verdict =
  /** `ops` are the operators of the model, `domain:name`. */
  | { readonly is: 'passed'; readonly ops: readonly string[] }
  | { readonly is: 'failed' | 'not claimed'; readonly why: string }

/** Relative, absolute. */
export type Tolerance = readonly [number, number]

/** The tolerances of ONNX's own runner. */
const RELATIVE = 1e-3
const ABSOLUTE = 1e-7
/** The expected zeros of these are 2e-7: they were computed in f32, and the evaluator computes in f64. */
const IS_NOISY = /^test_dft_inverse/
const NOISE = 1e-6

/** The files unchanged: an ONNX model, TensorProtos. An empty file is an absent optional value. */
export interface Case {
  readonly name: string
  readonly model: Uint8Array
  readonly sets: readonly {
    readonly inputs: readonly Uint8Array[]
    readonly outputs: readonly Uint8Array[]
  }[]
}

/** A case of a folder of node tests. */
export async function readCase(folder: string): Promise<Case> {
  const model = new Uint8Array(await readFile(join(folder, 'model.onnx')))
  const names = (await readdir(folder)).filter((name) => name.startsWith('test_data_set_')).sort()
  const sets = await Promise.all(
    names.map(async (name) => ({
      inputs: await readParts(join(folder, name), 'input'),
      outputs: await readParts(join(folder, name), 'output'),
    })),
  )
  return { name: basename(folder), model, sets }
}

async function readParts(folder: string, kind: string): Promise<Uint8Array[]> {
  const count = (await readdir(folder)).filter((name) => name.startsWith(`${kind}_`)).length
  const paths = Array.from({ length: count }, (_, at) => join(folder, `${kind}_${at}.pb`))
  return Promise.all(paths.map(async (path) => new Uint8Array(await readFile(path))))
}

/** The cases of a file in `golden/`: one per line as JSON, its files in base64. */
export async function readPacked(path: URL): Promise<Case[]> {
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64'))
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '')
  return lines.map((line) => {
    const { name, model, sets } = JSON.parse(line)
    return {
      name,
      model: bytes(model),
      sets: sets.map((set: { inputs: string[]; outputs: string[] }) => ({
        inputs: set.inputs.map(bytes),
        outputs: set.outputs.map(bytes),
      })),
    }
  })
}

export function packed({ name, model, sets }: Case): string {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
  return JSON.stringify({
    name,
    model: text(model),
    sets: sets.map(({ inputs, outputs }) => ({ inputs: inputs.map(text), outputs: outputs.map(text) })),
  })
}

/** Committed cases, which every run checks. */
export const GOLDEN: readonly URL[] = ['node-tests.jsonl', 'runtime-cases.jsonl'].map(
  (name) => new URL(`golden/${name}`, import.meta.url),
)

/** Computes the outputs of a graph by name. */
export type Compute = (
  graph: Graph,
  feeds: ReadonlyMap<string, Tensor>,
) => ReadonlyMap<string, Tensor> | Promise<ReadonlyMap<string, Tensor>>

const evaluated: Compute = (graph, feeds) => evaluate(graph, feeds)

/** `compute`: the implementation under test. Default: the evaluator. */
export async function judgeCase(
  { name, model: bytes, sets }: Case,
  tolerance: Tolerance = [RELATIVE, IS_NOISY.test(name) ? NOISE : ABSOLUTE],
  compute = evaluated,
): Promise<Verdict> {
  try {
    const source = bufferSource(`${name}/model.onnx`, bytes)
    const model = await readModel(source, { inlineBytes: Infinity, oldestOpset: 1 })
    if (sets.length === 0) return { is: 'failed', why: 'it has no data' }
    const types = inferTypes(model.graph)
    for (const set of sets) {
      const why = await judgeSet(
        { ...model, results: resultsOf(source.name, bytes) },
        types,
        set,
        compute,
        tolerance,
      )
      if (why !== undefined) return { is: 'failed', why }
    }
    return { is: 'passed', ops: operatorsIn(model.graph) }
  } catch (error) {
    if (isHalfbyteError(error) && error.code === 'unsupported')
      return { is: 'not claimed', why: error.message }
    return { is: 'failed', why: error instanceof Error ? (error.stack ?? error.message) : `${error}` }
  }
}

const operatorsIn = (graph: Graph): string[] =>
  graph.nodes.flatMap(({ domain, op, attributes }) => [
    `${domain}:${op}`,
    ...[...attributes.values()].flatMap(({ kind, value }) => (kind === 'graph' ? operatorsIn(value) : [])),
  ])

/** The outputs of the file's graph, with their types, which the reader skips. */
function resultsOf(title: string, bytes: Uint8Array): Input[] {
  const results: Input[] = []
  new Message(title, bytes).fields((field, model) => {
    if (field !== 7) return
    model.message().fields((part, graph) => {
      if (part === 12) results.push(readValue(graph.message()))
    })
  })
  return results
}

async function judgeSet(
  { graph, results }: OnnxModel & { readonly results: readonly Input[] },
  types: Types,
  { inputs, outputs }: Case['sets'][number],
  compute: Compute,
  tolerance: Tolerance,
): Promise<string | undefined> {
  const feeds = new Map<string, Tensor>()
  for (const [index, input] of graph.inputs.entries()) {
    const value = valueIn(input, inputs[index])
    if (value !== undefined) feeds.set(input.name, value)
  }
  const isLoose = [...graph.inputs, ...results].some(({ isOptional }) => isOptional)
  const made = await compute(graph, feeds)
  for (const [index, result] of results.entries()) {
    const { name } = result
    const expected = valueIn(result, outputs[index])
    if (expected === undefined) continue
    // Nothing is known of values that may be absent.
    const isKnown = !isLoose || types.has(name)
    const why =
      difference(made.get(name), expected, tolerance) ??
      (isKnown ? contradiction(types, name, expected) : undefined)
    if (why !== undefined) return `output ${name}: ${why}`
  }
  return undefined
}

/** Returns how shape inference contradicts the result; undefined if it does not. */
function contradiction(types: Types, name: string, found: Tensor): string | undefined {
  const type = types.get(name)
  if (type === undefined) return 'has no inferred type'
  if (type.dtype !== found.dtype) return `was inferred to be ${type.dtype} and is ${found.dtype}`
  const { dims, elements } = type
  const fits = dims === undefined || agree(dims, found.dims)
  if (!fits) return `was inferred to have shape [${dims}] and has [${found.dims}]`
  if (elements !== undefined && !agree(elements, numbersOf(found)))
    return `was inferred to hold [${elements}] and holds [${numbersOf(found)}]`
  return undefined
}

const agree = (known: readonly Dim[], found: readonly number[]): boolean =>
  known.length === found.length && known.every((size, at) => typeof size === 'string' || size === found[at])

/** A TensorProto, a SequenceProto or an OptionalProto, according to its type. Undefined if it is absent. */
function valueIn({ name, type, isOptional }: Input, bytes: Uint8Array | undefined): Tensor | undefined {
  if (bytes === undefined || bytes.byteLength === 0) return undefined
  const message = new Message(name, bytes)
  if (!isOptional) return bareValue(message, type?.dtype === 'sequence')
  let value: Tensor | undefined
  message.fields((field) => {
    if (field === 3 || field === 5) value = bareValue(message.message(), field === 5)
  })
  return value
}

function bareValue(message: Message, isSequence: boolean): Tensor {
  if (!isSequence) return tensorFrom(message.file, readTensorFields(message))
  const items: Tensor[] = []
  message.fields((field) => {
    if (field === 3) items.push(bareValue(message.message(), false))
  })
  return sequenceOf(items)
}

/** Describes the first difference; undefined if there is none. */
export function difference(
  found: Tensor | undefined,
  expected: Tensor,
  [relative, absolute]: Tolerance = [RELATIVE, ABSOLUTE],
): string | undefined {
  if (found === undefined) return 'is missing'
  if (found.dtype !== expected.dtype) return `is ${found.dtype} instead of ${expected.dtype}`
  if (`${found.dims}` !== `${expected.dims}`) return `has shape [${found.dims}] instead of [${expected.dims}]`
  if (expected.items !== undefined) {
    const [at] = [...expected.items.keys()].filter(
      (index) =>
        difference(found.items?.[index], expected.items![index]!, [relative, absolute]) !== undefined,
    )
    return at === undefined
      ? undefined
      : `element ${at} ${difference(found.items?.[at], expected.items[at]!, [relative, absolute])}`
  }
  if (expected.dtype === 'string') {
    const [texts, due] = [JSON.stringify(textsOf(found)), JSON.stringify(textsOf(expected))]
    return texts === due ? undefined : `is ${texts} instead of ${due}`
  }
  const a = reader(found)
  const b = reader(expected)
  for (let at = 0; at < expected.data.length; at++) {
    const same = isFloat(expected.dtype)
      ? isNear(a(at), b(at), relative, absolute)
      : found.data[at] === expected.data[at]
    if (!same) return `element ${at} is ${found.data[at]} instead of ${expected.data[at]}`
  }
  return undefined
}

const isNear = (a: number, b: number, relative: number, absolute: number): boolean =>
  Object.is(a, b) || a === b || Math.abs(a - b) <= absolute + relative * Math.abs(b)
