// Runs texts through an encoder's graph, one at a time: a graph may quantise all rows of a run with one
// scale, so in a batch a vector would depend on the other texts.
import { HalfbyteError } from '../../core/base/errors.ts'
import type { Host } from '../../core/runtime/host.ts'
import { countOf, reader, type Tensor } from '../../network/onnx/ir/tensor.ts'
import type { LocalNetwork } from '../../network/service/build-network.ts'
import { type EmbedRun, type EncodedText, shortestFirst } from '../service/embed-texts.ts'
import { pooledRows, RowPool } from '../service/pool-rows.ts'
import type { GraphForm } from './graph-form.ts'

interface GraphMachine {
  readonly network: Pick<LocalNetwork, 'run'>
  readonly form: GraphForm
  readonly host: Pick<Host, 'yieldTask'>
}

interface Rows {
  /** [row][width] */
  readonly values: Float32Array
  readonly width: number
  /** Axes of the output. */
  readonly rank: number
}

/** The output for one text. Throws `format` if its sizes don't fit one text, and errors of the run. */
export async function runText(
  network: GraphMachine['network'],
  form: GraphForm,
  words: readonly number[],
  signal: AbortSignal | undefined,
): Promise<Rows> {
  const outputs = await network.run(form.inputs(words), signal)
  const tensor = outputs.get(form.output)
  const { dims = [] } = tensor ?? {}
  const width = dims.at(-1) ?? 0
  const rows = form.kind === 'states' ? (form.fixedTokens ?? words.length) : 1
  const isExpected = form.kind === 'logits' || (dims.length <= 3 && rows * width === countOf(dims))
  if (tensor !== undefined && width > 0 && isExpected)
    return { values: floats(tensor), width, rank: dims.length }
  throw new HalfbyteError(
    'format',
    `the output ${form.output} of the graph has the sizes [${dims}] for a text of ${words.length} tokens, where ${rows} rows are expected; choose an export for feature-extraction`,
    { dims: dims.join(), rows },
  )
}

function floats(tensor: Tensor): Float32Array {
  if (tensor.data instanceof Float32Array) return tensor.data
  const read = reader(tensor)
  return Float32Array.from({ length: tensor.data.length }, (_, at) => read(at))
}

/**
 * One vector for each text, in order. Texts of the same length run one after another, because each length has
 * its own program. Rejects with errors of the run, `integrity` or the signal's reason.
 */
export async function embedByGraph(
  { network, form, host }: GraphMachine,
  texts: readonly EncodedText[],
  { pooling, signal, onDone, ...options }: EmbedRun,
): Promise<Float32Array[]> {
  const vectors: Float32Array[] = []
  for (const [done, index] of shortestFirst(texts).entries()) {
    await host.yieldTask()
    signal?.throwIfAborted()
    const { ids, skipped } = texts[index]!
    const { values, width } = await runText(network, form, ids, signal)
    const isPooled = form.kind !== 'states'
    const [first, end] = isPooled ? [0, 1] : pooledRows(pooling, ids.length, skipped)
    const pool = new RowPool(isPooled ? 'cls' : pooling, width)
    for (let row = first; row < end; row++) pool.add(values.subarray(row * width, (row + 1) * width), row)
    vectors[index] = pool.vector(options)
    onDone?.(done + 1)
  }
  return vectors
}
