// Target: networks. In: random graphs of the dialect and a small encoder as ONNX files, changed in bytes,
// fields or meaning. Out: how far their files are read; what is accepted is compiled in both builds, run, and
// compared with the evaluator.
import { bertBytes } from '../../../bench/graphs/bert.ts'
import { randomGraph } from '../../../src/compile/testing/random-graph.ts'
import type { Graph } from '../../../src/onnx/ir/graph.ts'
import type { Tensor } from '../../../src/onnx/ir/tensor.ts'
import { tensorBytes, writeModel } from '../../../src/onnx/proto/write-model.ts'
import type { Random } from '../../helpers/random.ts'
import { bytesOf, type Input, textOf } from '../input.ts'
import { mutateBytes } from '../mutate/mutate-bytes.ts'
import { mutateGraph } from '../mutate/mutate-graph.ts'
import { mutateProto } from '../mutate/mutate-proto.ts'
import { compileAndCompare } from '../networks/compare-network.ts'
import { MODEL } from '../onnx-seeds.ts'
import type { Target } from '../target.ts'

const ENCODER = { layers: 1, hidden: 8, heads: 2, intermediate: 12, vocabulary: 9, positions: 6 }
/** Graphs other than the encoder. */
const GRAPHS = 200
const SEED = 33
/** Of all; most of what is accepted comes from changes of meaning. */
const IS_ENCODER = 0.1
const IN_MEANING = 0.6
/** Of the others. */
const IN_BYTES = 0.2

export async function openTarget(): Promise<Target> {
  const encoder = bertBytes(ENCODER)
  const graphs = Array.from({ length: GRAPHS }, (_, index) => writtenBytes(randomGraph(SEED, index).graph))
  return {
    draw(random) {
      const good = random.chance(IS_ENCODER) ? encoder : random.pick(graphs)
      const { bytes, change } = changed(random, good, graphs)
      return { [MODEL]: bytes, change }
    },
    run: (input: Input) => compileAndCompare(bytesOf(input, MODEL), textOf(input, 'change')),
  }
}

function writtenBytes({ inputs, ...parts }: Graph): Uint8Array {
  const types = new Map(inputs.map(({ name, type }) => [name, type!]))
  return writeModel({ ...parts, inputs: types }, (constant) => tensorBytes(constant as Tensor))
}

function changed(random: Random, good: Uint8Array, donors: readonly Uint8Array[]) {
  if (random.chance(IN_MEANING)) return mutateGraph(random, good)
  if (random.chance(IN_BYTES)) return { bytes: mutateBytes(random, good), change: 'bytes' }
  return { bytes: mutateProto(random, good, donors), change: 'fields' }
}
