// Targets. In: nothing. Out: what a parser under test has to give: inputs by chance, and how one of them is read.
import type { Input } from './input.ts'
import type { Random } from './random.ts'

/** One parser and what comes after it. */
export interface Target {
  /** Makes an input, most often a good one that was changed somewhere. */
  draw(random: Random): Input
  /**
   * Reads an input as the library would. Returns how far it came, in a word. May throw a HalfbyteError of any code but
   * `internal`; everything else that it throws is a finding.
   */
  run(input: Input): Promise<string> | string
}

/** A target that is made ready once in a process. */
export interface TargetModule {
  readonly openTarget: () => Promise<Target>
}

/** The files of fuzz/targets/, in the order in which they run. */
export const TARGETS = [
  'gguf',
  'safetensors',
  'hbm',
  'config',
  'tokenizer',
  'adapters',
  'templates',
  'constraints',
  'sessions',
] as const
/** `faulty` is what the runner's own tests read. */
export type TargetName = (typeof TARGETS)[number] | 'faulty'

export const importTarget = (name: TargetName): Promise<TargetModule> => import(`./targets/${name}.ts`)
