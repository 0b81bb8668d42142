// Models of the soak. In: nothing. Out: tiny models of each kind of state, as files.
import { ggufFile } from '../conformance/testing/model-files.ts'
import { randomLlama } from '../conformance/testing/random-llama.ts'
import {
  type RecurrentFamily,
  randomRecurrent,
  recurrentGguf,
} from '../conformance/testing/random-recurrent.ts'

export interface SoakModel {
  readonly name: string
  readonly file: File
  /** Fits only a few conversations, so that memory sometimes runs short. */
  readonly stateBytes: number
}

export const CONTEXT_LENGTH = 384

const KiB = 1024

const recurrent = async (family: RecurrentFamily): Promise<SoakModel> => ({
  name: family,
  file: await recurrentGguf(randomRecurrent(family, 11)),
  stateBytes: 640 * KiB,
})

/** Keys and values, with biases, with a window; recurrent state of both kinds, and both together. */
export async function soakModels(): Promise<SoakModel[]> {
  const spoken = { gain: 1.5, speaks: true } as const
  return [
    { name: 'llama', file: await ggufFile(randomLlama({ seed: 38, ...spoken })), stateBytes: 640 * KiB },
    {
      name: 'qwen2',
      file: await ggufFile(randomLlama({ seed: 7, family: 'qwen2', ...spoken }), 'F16'),
      stateBytes: 640 * KiB,
    },
    {
      name: 'windowed',
      file: await ggufFile(randomLlama({ seed: 5, window: 80, ...spoken })),
      stateBytes: 640 * KiB,
    },
    await recurrent('mamba'),
    await recurrent('mamba2'),
    await recurrent('granitehybrid'),
  ]
}
