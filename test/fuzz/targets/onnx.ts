// Target: ONNX. In: decoders as torch exports them, whole or cut to one layer, and small ones. Bytes or
// protobuf fields are changed, removed or moved, or nodes, names and constants are changed. Out: how far
// their files are read. Accepted files are loaded and compared with the evaluator.
import type { Random } from '../../helpers/random.ts'
import { bytesOf, type Input, textOf } from '../input.ts'
import { mutateBytes } from '../mutate/mutate-bytes.ts'
import { mutateGraph } from '../mutate/mutate-graph.ts'
import { mutateProto } from '../mutate/mutate-proto.ts'
import { loadAndCompare } from '../networks/compare-onnx.ts'
import { exported, exportNames, MODEL, shortExport, smallDecoders } from '../onnx-seeds.ts'
import type { Target } from '../target.ts'

/**
 * Share of inputs with changed nodes, names and constants in a well-formed file; most accepted files come
 * from these.
 */
const IN_MEANING = 0.4
/**
 * Share of the other inputs with changed bytes. The rest have changed fields but correct lengths, and get
 * further.
 */
const IN_BYTES = 0.5
/** Whole exports have two layers and long names, and take the longest to read. */
const WHOLE = 0.05
/** Share of the other inputs. */
const DECODER = 0.6
/** Nodes come before the weights in some files and after them in others; most changes should be in nodes. */
const IN_NODES = 0.8

interface Good {
  readonly bytes: Uint8Array
  /** Where the graph's `node` fields begin and end. */
  readonly nodes: readonly [number, number]
}

export async function openTarget(): Promise<Target> {
  const names = exportNames()
  const [whole, short, decoders] = [
    names.map(exported),
    names.map(shortExport),
    [...(await smallDecoders()).values()],
  ].map((files) => files.map((bytes): Good => ({ bytes, nodes: nodesOf(bytes) })))
  const donors = [...short!, ...decoders!].map(({ bytes }) => bytes)
  return {
    draw(random) {
      const good = random.pick(random.chance(WHOLE) ? whole! : random.chance(DECODER) ? decoders! : short!)
      if (random.chance(IN_MEANING)) {
        const { bytes, change } = mutateGraph(random, good.bytes)
        return { [MODEL]: bytes, change }
      }
      const isOfBytes = random.chance(IN_BYTES)
      const bytes = isOfBytes ? changedBytes(random, good) : mutateProto(random, good.bytes, donors)
      return { [MODEL]: bytes, change: isOfBytes ? 'bytes' : 'fields' }
    },
    run,
  }
}

/** Every accepted graph is loaded and must match the evaluator. */
const run = (input: Input): Promise<string> => loadAndCompare(bytesOf(input, MODEL), textOf(input, 'change'))

const changedBytes = (random: Random, good: Good): Uint8Array =>
  random.chance(IN_NODES) ? changedNodes(random, good) : mutateBytes(random, good.bytes)

/** The graph's length is not corrected: a changed length is additional damage. */
function changedNodes(random: Random, { bytes, nodes: [start, end] }: Good): Uint8Array {
  const changed = mutateBytes(random, bytes.subarray(start, end))
  const made = new Uint8Array(start + changed.length + bytes.length - end)
  made.set(bytes.subarray(0, start))
  made.set(changed, start)
  made.set(bytes.subarray(end), start + changed.length)
  return made
}

/** From the first operator name to the last; no other texts look like them. */
function nodesOf(bytes: Uint8Array): [number, number] {
  const text = Buffer.from(bytes).toString('latin1')
  const places = [...text.matchAll(/Gather|MatMul|Reshape|Transpose|Softmax|Concat/g)].map(
    ({ index }) => index,
  )
  return [Math.max(0, Math.min(...places) - 64), Math.max(...places)]
}
