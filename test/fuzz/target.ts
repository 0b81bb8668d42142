// Targets. The interface of a parser under test: how to generate a random input and how to read it.

import type { Random } from '../helpers/random.ts'
import type { Input } from './input.ts'

/** One parser and the steps that follow it. */
export interface Target {
  /** Makes an input, usually a valid one with some changes. */
  draw(random: Random): Input
  /**
   * Reads an input as the library would. Returns how far it got, in one word. It may throw a HalfbyteError of
   * any code except `internal`; any other error is a finding.
   */
  run(input: Input): Promise<string> | string
}

/** A target that a process has opened. */
interface TargetModule {
  readonly openTarget: () => Promise<Target>
}

/** The files of test/fuzz/targets/, in the order in which they run. */
export const TARGETS = [
  'gguf',
  'safetensors',
  'hbm',
  'onnx',
  'networks',
  'fallback',
  'config',
  'tokenizer',
  'adapters',
  'templates',
  'constraints',
  'sessions',
  'names',
  'encoders',
  'tabs',
  'vision',
] as const
/** `faulty` is the target of the runner's own tests. */
export type TargetName = (typeof TARGETS)[number] | 'faulty'

export const importTarget = (name: TargetName): Promise<TargetModule> => import(`./targets/${name}.ts`)
