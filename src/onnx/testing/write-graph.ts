// Writes a graph of the dialect as an ONNX file: the constants that are in memory, and attributes of whole
// numbers.
import type { Attribute, Constant, Graph } from '../ir/graph.ts'
import { isStored } from '../ir/graph.ts'
import { TYPE } from './node-writer.ts'
import { modelBytes, type WrittenAttribute, type WrittenTensor } from './write-model.ts'

const OPSET = 23
const IR_VERSION = 10

/** Throws where the graph has more than that. */
export function writtenBytes({ nodes, constants, inputs, outputs }: Graph): Uint8Array {
  const typeOf = (dtype: string): number => {
    const type = TYPE[dtype as keyof typeof TYPE]
    if (type === undefined) throw new Error(`no tensors of ${dtype} are written`)
    return type
  }
  const written = {
    nodes: nodes.map(({ op, inputs, outputs, attributes }) => ({
      op,
      inputs,
      outputs,
      attributes: Object.fromEntries([...attributes].map(([key, value]) => [key, writtenAttribute(value)])),
    })),
    constants: [...constants].map(([name, constant]) => writtenConstant(name, constant, typeOf)),
    inputs: inputs.map(({ name, type }) => ({ name, type: typeOf(type!.dtype), dims: type!.dims })),
    outputs: outputs.map((name) => ({ name, type: TYPE.f32 })),
  }
  return modelBytes(written, OPSET, IR_VERSION)
}

function writtenAttribute({ kind, value }: Attribute): WrittenAttribute {
  if (kind === 'int') return value
  if (kind === 'ints') return { ints: value }
  if (kind === 'float') return { float: value }
  if (kind === 'string') return { text: value }
  throw new Error(`no attributes of the kind ${kind} are written`)
}

function writtenConstant(name: string, constant: Constant, typeOf: (dtype: string) => number): WrittenTensor {
  if (isStored(constant)) throw new Error(`the constant ${name} lies in a file`)
  const { dtype, dims, data } = constant
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  return { name, type: typeOf(dtype), dims, raw: raw.slice() }
}
