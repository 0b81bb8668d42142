// Target: ONNX. In: decoders as torch exports them, with bytes of the protobuf changed, cut out or put
// elsewhere. Out: how far their files are read: graph, passes, plan.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { prepareModel } from '../../src/engine/load/prepare.ts'
import { openOnnx } from '../../src/onnx/open-model.ts'
import { sourcesOf } from '../models.ts'
import { mutateBytes } from '../mutate/mutate-bytes.ts'
import type { Random } from '../random.ts'
import type { Target } from '../target.ts'

const EXPORTS = join(import.meta.dirname, '../../conformance/onnx/exports')
const NAMES = ['llama-no-cache', 'llama-cache', 'qwen2-cache', 'qwen3-cache', 'opset23']
/** Nodes come before the weights in some files, after them in others: most changes are to be in nodes. */
const IN_NODES = 0.8

interface Good {
  readonly bytes: Uint8Array
  /** Where the field `node` of the graph begins and ends. */
  readonly nodes: readonly [number, number]
}

export async function openTarget(): Promise<Target> {
  const models = NAMES.map((name): Good => {
    const bytes = new Uint8Array(readFileSync(join(EXPORTS, name, 'model.onnx')))
    return { bytes, nodes: nodesOf(bytes) }
  })
  return {
    draw(random) {
      const good = random.pick(models)
      const bytes = random.chance(IN_NODES) ? changedNodes(random, good) : mutateBytes(random, good.bytes)
      return { 'model.onnx': bytes }
    },
    async run(input) {
      const file = await openOnnx(sourcesOf(input))
      const { plan } = await prepareModel(file, { weights: 'auto' })
      return plan.ops.length > 0 ? 'planned' : 'empty'
    },
  }
}

/** The length of the graph is not mended: a change of length is one more damage. */
function changedNodes(random: Random, { bytes, nodes: [start, end] }: Good): Uint8Array {
  const changed = mutateBytes(random, bytes.subarray(start, end))
  const made = new Uint8Array(start + changed.length + bytes.length - end)
  made.set(bytes.subarray(0, start))
  made.set(changed, start)
  made.set(bytes.subarray(end), start + changed.length)
  return made
}

/** From the first name of an operator to the last; they are the only texts of that kind. */
function nodesOf(bytes: Uint8Array): [number, number] {
  const text = Buffer.from(bytes).toString('latin1')
  const places = [...text.matchAll(/Gather|MatMul|Reshape|Transpose|Softmax|Concat/g)].map(
    ({ index }) => index,
  )
  return [Math.max(0, Math.min(...places) - 64), Math.max(...places)]
}
