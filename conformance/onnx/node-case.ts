// A node test of the ONNX standard. In: its folder. Out: whether the evaluator gives its outputs, or why it is
// not claimed.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bufferSource } from '../../src/base/bytes.ts'
import { isHalfbyteError } from '../../src/base/errors.ts'
import { evaluate } from '../../src/onnx/evaluate.ts'
import { inferTypes, type Types } from '../../src/onnx/infer.ts'
import type { Dim } from '../../src/onnx/ir/dims.ts'
import { isFloat, numbersOf, reader, type Tensor } from '../../src/onnx/ir/tensor.ts'
import { Message } from '../../src/onnx/proto/message.ts'
import { readTensorFields, tensorFrom } from '../../src/onnx/proto/tensor-proto.ts'
import { type OnnxModel, readModel } from '../../src/onnx/read-model.ts'

export type Verdict =
  /** `ops` are the operators of the model, `domain:name`. */
  | { readonly is: 'passed'; readonly ops: readonly string[] }
  | { readonly is: 'failed' | 'not claimed'; readonly why: string }

/** The tolerances of ONNX's own runner. */
const RELATIVE = 1e-3
const ABSOLUTE = 1e-7

export async function judgeCase(folder: string): Promise<Verdict> {
  try {
    const model = await readModel(await fileSource(join(folder, 'model.onnx')), {
      inlineBytes: Infinity,
      oldestOpset: 1,
    })
    const sets = (await readdir(folder)).filter((name) => name.startsWith('test_data_set_'))
    if (sets.length === 0) return { is: 'failed', why: 'it has no data' }
    const types = inferTypes(model.graph)
    for (const set of sets) {
      const why = await judgeSet(model, types, join(folder, set))
      if (why !== undefined) return { is: 'failed', why }
    }
    return { is: 'passed', ops: model.graph.nodes.map(({ domain, op }) => `${domain}:${op}`) }
  } catch (error) {
    if (isHalfbyteError(error) && error.code === 'unsupported')
      return { is: 'not claimed', why: error.message }
    return { is: 'failed', why: error instanceof Error ? (error.stack ?? error.message) : `${error}` }
  }
}

async function judgeSet({ graph }: OnnxModel, types: Types, folder: string): Promise<string | undefined> {
  const feeds = new Map<string, Tensor>()
  for (const [index, { name }] of graph.inputs.entries()) {
    const tensor = await readTensor(join(folder, `input_${index}.pb`))
    if (tensor !== undefined) feeds.set(name, tensor)
  }
  const outputs = evaluate(graph, feeds)
  for (const [index, name] of graph.outputs.entries()) {
    const expected = await readTensor(join(folder, `output_${index}.pb`))
    if (expected === undefined) continue
    const why = difference(outputs.get(name), expected) ?? contradiction(types, name, expected)
    if (why !== undefined) return `output ${name}: ${why}`
  }
  return undefined
}

/** Where shape inference says something else than what came; undefined where it does not. */
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

/** undefined for an empty file: an optional value that is absent. */
async function readTensor(path: string): Promise<Tensor | undefined> {
  const bytes = new Uint8Array(await readFile(path))
  if (bytes.byteLength === 0) return undefined
  return tensorFrom(path, readTensorFields(new Message(path, bytes)))
}

async function fileSource(path: string) {
  return bufferSource(path, new Uint8Array(await readFile(path)))
}

/** The first difference, in words; undefined where there is none. */
export function difference(
  found: Tensor | undefined,
  expected: Tensor,
  [relative, absolute] = [RELATIVE, ABSOLUTE],
): string | undefined {
  if (found === undefined) return 'was not made'
  if (found.dtype !== expected.dtype) return `is ${found.dtype} where ${expected.dtype} is due`
  if (`${found.dims}` !== `${expected.dims}`)
    return `has shape [${found.dims}] where [${expected.dims}] is due`
  const [a, b] = [reader(found), reader(expected)]
  for (let at = 0; at < expected.data.length; at++) {
    const same = isFloat(expected.dtype)
      ? isNear(a(at), b(at), relative, absolute)
      : found.data[at] === expected.data[at]
    if (!same) return `element ${at} is ${found.data[at]} where ${expected.data[at]} is due`
  }
  return undefined
}

const isNear = (a: number, b: number, relative: number, absolute: number): boolean =>
  Object.is(a, b) || a === b || Math.abs(a - b) <= absolute + relative * Math.abs(b)
