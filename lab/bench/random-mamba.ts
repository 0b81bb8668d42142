// Makes the tensors and keys of a random Mamba's GGUF file, as llama.cpp would quantise it.
import type { GgufValue } from '../../test/conformance/testing/writers/gguf-writer.ts'
import type { RecurrentShape } from './shapes.ts'

/** The functions of random-model.ts that make tensors. */
interface TensorMaker {
  /** Q4_0. */
  matrix(name: string, n: number, k: number): void
  vector(name: string, n: number, value: number): void
  floats(name: string, shape: readonly number[], value: (index: number) => number): void
}

/** One layer: the two large projections in Q4_0, the small ones in F32, as llama.cpp keeps them. */
export function mambaLayer(make: TensorMaker, at: string, hiddenSize: number, shape: RecurrentShape): void {
  const { innerSize, stateSize, convKernel, timeStepRank } = shape
  const spread = (size: number) => (index: number) => (((index * 0.618034) % 1) - 0.5) * size
  make.vector(`${at}.attn_norm.weight`, hiddenSize, 1)
  make.matrix(`${at}.ssm_in.weight`, 2 * innerSize, hiddenSize)
  make.floats(`${at}.ssm_conv1d.weight`, [innerSize, convKernel], spread(0.5))
  make.vector(`${at}.ssm_conv1d.bias`, innerSize, 0.01)
  make.floats(`${at}.ssm_x.weight`, [timeStepRank + 2 * stateSize, innerSize], spread(0.1))
  make.floats(`${at}.ssm_dt.weight`, [innerSize, timeStepRank], spread(0.1))
  // Steps from 0.001 to 0.1, as at the start of training.
  make.floats(`${at}.ssm_dt.bias`, [innerSize], (index) => -6.9 + (4.6 * index) / innerSize)
  make.floats(`${at}.ssm_a`, [innerSize, stateSize], (index) => -(1 + (index % stateSize)))
  make.vector(`${at}.ssm_d`, innerSize, 1)
  make.matrix(`${at}.ssm_out.weight`, hiddenSize, innerSize)
}

export function mambaKeys({ innerSize, stateSize, convKernel, timeStepRank }: RecurrentShape) {
  return {
    'mamba.ssm.inner_size': ['u32', innerSize],
    'mamba.ssm.state_size': ['u32', stateSize],
    'mamba.ssm.conv_kernel': ['u32', convKernel],
    'mamba.ssm.time_step_rank': ['u32', timeStepRank],
  } as const satisfies Record<string, GgufValue>
}
