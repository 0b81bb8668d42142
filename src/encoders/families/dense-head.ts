// A Dense module after the pooling: reads it from the files of sentence-transformers or from GGUF, and
// applies it to vectors.
import { unbuiltVariant } from '../../core/arch/config/fields.ts'
import { checkShape, requireTensor } from '../../core/arch/tensors/names.ts'
import { readVector } from '../../core/formats/dequantize.ts'
import { shown } from '../../core/formats/malformed.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import { fieldsOf } from './stated.ts'

/** y = activation(weight x + bias) */
export interface DenseHead {
  readonly outputs: number
  readonly parameters: number
  readonly apply: (vector: Float64Array) => Float64Array
}

const ACTIVATIONS: ReadonlyMap<string, (x: number) => number> = new Map([
  ['Identity', (x) => x],
  ['Tanh', Math.tanh],
])

/** The modules that a GGUF file has under these names, in order. */
const GGUF_MODULES = ['dense_2', 'dense_3']
/** No vector has been longer, so a header with a larger number is almost certainly wrong. */
const MAX_OUTPUTS = 1 << 16

/**
 * Reads the module of a folder, whose vectors have `inputs` numbers. Throws `architecture` for tensors that
 * are missing or have the wrong shape, `unsupported` for other activations.
 */
export function readDenseHead(file: ModelFile, inputs: number, signal: AbortSignal): Promise<DenseHead> {
  const fields = fieldsOf(file, '')
  const written = fields.text('activation_function', 'Tanh')
  const activation = ACTIVATIONS.get(written.split('.').at(-1) ?? '')
  if (activation === undefined) {
    const known = [...ACTIVATIONS.keys()].join(' or ')
    throw unbuiltVariant(file.name, `a Dense module with ${shown(written)}`, known)
  }
  const bias = fields.fact('bias', true) ? 'linear.bias' : undefined
  return readHead(file, { inputs, weight: 'linear.weight', bias, activation }, signal)
}

/**
 * The modules in a GGUF file, which have no biases and no activation; most files have none. Throws like
 * `readDenseHead`.
 */
export async function readGgufHeads(
  file: ModelFile,
  inputs: number,
  signal: AbortSignal,
): Promise<readonly DenseHead[]> {
  const heads: DenseHead[] = []
  for (const name of GGUF_MODULES.map((module) => `${module}.weight`).filter((name) =>
    file.tensors.has(name),
  )) {
    const stored = { inputs: heads.at(-1)?.outputs ?? inputs, weight: name, activation: (x: number) => x }
    heads.push(await readHead(file, stored, signal))
  }
  return heads
}

interface StoredHead {
  readonly inputs: number
  /** Names of tensors. */
  readonly weight: string
  readonly bias?: string | undefined
  readonly activation: (x: number) => number
}

async function readHead(
  file: ModelFile,
  { inputs, weight, bias, activation }: StoredHead,
  signal: AbortSignal,
): Promise<DenseHead> {
  const outputs = requireTensor(file, weight).shape[0] ?? 0
  if (outputs < 1 || outputs > MAX_OUTPUTS)
    throw unbuiltVariant(file.name, `a Dense module with ${outputs} outputs`, `1 to ${MAX_OUTPUTS}`)
  const read = (name: string, shape: readonly number[]) => {
    const tensor = requireTensor(file, name)
    checkShape(file.name, tensor, shape)
    return readVector({ ...tensor, shape: [shape.reduce((product, size) => product * size, 1)] }, signal)
  }
  const matrix = await read(weight, [outputs, inputs])
  const added = bias === undefined ? undefined : await read(bias, [outputs])
  return {
    outputs,
    parameters: matrix.length + (added?.length ?? 0),
    apply(vector) {
      const made = new Float64Array(outputs)
      for (let n = 0; n < outputs; n++) {
        let sum = added?.[n] ?? 0
        for (let k = 0; k < inputs; k++) sum += matrix[n * inputs + k]! * vector[k]!
        made[n] = activation(sum)
      }
      return made
    },
  }
}
