// Makes random Dense modules, as sentence-transformers writes them, and applies them by definition in f64.
import { Random } from '../../helpers/random.ts'
import { jsonFile, newFile } from '../testing/model-files.ts'
import { safetensorsBytes } from '../testing/writers/safetensors-writer.ts'

export interface RandomDense {
  readonly inputs: number
  readonly outputs: number
  /** [outputs][inputs] */
  readonly weight: Float32Array
  readonly bias: Float32Array | undefined
  readonly activation: string
}

export function randomDense(
  seed: number,
  inputs: number,
  outputs: number,
  activation = 'torch.nn.modules.linear.Identity',
  hasBias = false,
): RandomDense {
  const random = new Random(`dense ${seed}`)
  const draw = (length: number, scale: number) => Float32Array.from({ length }, () => scale * random.signed())
  const weight = draw(inputs * outputs, 1.7 / Math.sqrt(inputs))
  return { inputs, outputs, weight, bias: hasBias ? draw(outputs, 0.3) : undefined, activation }
}

/** model.safetensors and config.json of the module's folder. */
export function denseFiles({ inputs, outputs, weight, bias, activation }: RandomDense): [File, File] {
  const stored = (shape: readonly number[], values: Float32Array) =>
    ({ dtype: 'F32', shape, data: new Uint8Array(values.buffer) }) as const
  const tensors = {
    'linear.weight': stored([outputs, inputs], weight),
    ...(bias && { 'linear.bias': stored([outputs], bias) }),
  }
  const config = {
    in_features: inputs,
    out_features: outputs,
    bias: bias !== undefined,
    activation_function: activation,
  }
  return [newFile('model.safetensors', safetensorsBytes(tensors)), jsonFile('config.json', config)]
}

export function denseOf(
  { inputs, weight, bias, activation, outputs }: RandomDense,
  x: Float64Array,
): Float64Array {
  return Float64Array.from({ length: outputs }, (_, n) => {
    const sum = x.reduce((total, value, k) => total + value * weight[n * inputs + k]!, bias?.[n] ?? 0)
    return activation.endsWith('Tanh') ? Math.tanh(sum) : sum
  })
}
