// Graphs as files. In: a graph of the dialect, or its file. Out: its file, and the file with a change.
import type { Graph } from '../../../src/network/onnx/ir/graph.ts'
import type { Tensor } from '../../../src/network/onnx/ir/tensor.ts'
import { tensorBytes, writeModel } from '../../../src/network/onnx/proto/write-model.ts'
import type { Random } from '../../helpers/random.ts'
import { mutateBytes } from '../mutate/mutate-bytes.ts'
import { mutateGraph } from '../mutate/mutate-graph.ts'
import { mutateProto } from '../mutate/mutate-proto.ts'

/** Share of all inputs with semantic changes; most accepted files come from these. */
const IN_MEANING = 0.6
/** Share of the other inputs with changed bytes; the rest have changed fields. */
const IN_BYTES = 0.2

export function writtenBytes({ inputs, ...parts }: Graph): Uint8Array {
  const types = new Map(inputs.map(({ name, type }) => [name, type!]))
  return writeModel({ ...parts, inputs: types }, (constant) => tensorBytes(constant as Tensor))
}

export function changed(random: Random, good: Uint8Array, donors: readonly Uint8Array[]) {
  if (random.chance(IN_MEANING)) return mutateGraph(random, good)
  if (random.chance(IN_BYTES)) return { bytes: mutateBytes(random, good), change: 'bytes' }
  return { bytes: mutateProto(random, good, donors), change: 'fields' }
}
