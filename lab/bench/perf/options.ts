// Reads from the command line which part of the suite to run.
import { Command, InvalidArgumentError } from 'commander'
import { SHAPES, type Shape, TINY } from '../shapes.ts'
import { ENGINES, type EngineKind, type EngineName, OURS } from './engines.ts'
import type { Limits } from './schedule.ts'

export interface Options {
  readonly shapes: readonly Shape[]
  readonly threads: readonly number[]
  readonly kinds: readonly EngineKind[]
  readonly limits: Limits
  /** Tokens before a second turn; if absent, no second turn is measured. */
  readonly turn?: number | undefined
  readonly minutes: number
  readonly resume: boolean
  readonly docs: boolean
  /** Only writes existing measurements. */
  readonly report: boolean
  readonly folder: string
}

/** Throws Commander's error if `onError` is 'throw'; otherwise the process exits with a message. */
export function readOptions(args: readonly string[], onError: 'exit' | 'throw' = 'exit'): Options {
  const command = new Command('perf')
    .description(
      'Measures Halfbyte and other engines in turn, on random models of well-known shapes: prefill, decode, load, memory.',
    )
    .option('--shape <list>', 'models', choices(SHAPES.map(({ name }) => name)))
    .option('--peer <list>', 'engines in addition to Halfbyte, or none', choices([...PEERS, 'none']))
    .option('--threads <list>', 'thread counts', numbers, [1, 2])
    .option('--prompts <list>', 'prompt lengths; default: all that each engine runs', numbers)
    .option('--rounds <n>', 'maximum rounds per cell', number)
    .option('--decode <n>', 'maximum tokens to decode', number)
    .option('--turn <n>', 'tokens before a second turn; measures it once', number)
    .option('--minutes <n>', 'time limit of the whole run; rounds are dropped to meet it', number, 40)
    .option('--resume', 'keep the results in build/perf/*.json and measure the missing ones')
    .option('--report', 'only write the tables, without measuring')
    .option('--docs', 'write the figures into lab/measurements')
    .option('--out <folder>', 'folder for the JSON files', 'build/perf')
  if (onError === 'throw') command.exitOverride().configureOutput({ writeErr: () => {} })
  const asked = command.parse([...args], { from: 'user' }).opts<{
    shape?: string[]
    peer?: string[]
    threads: number[]
    prompts?: number[]
    rounds?: number
    decode?: number
    turn?: number
    minutes: number
    resume?: true
    report?: true
    docs?: true
    out: string
  }>()
  const isAsked = (name: EngineName) => name === OURS || (asked.peer?.includes(name) ?? true)
  const { prompts, rounds, decode, turn, threads, minutes, resume, report, docs, out } = asked
  return {
    // ONNX models are only written for transformers, so recurrent shapes need an explicit --peer.
    shapes: SHAPES.filter(
      (shape) => asked.shape?.includes(shape.name) ?? (shape !== TINY && shape.recurrent === undefined),
    ),
    kinds: ENGINES.filter(({ name }) => isAsked(name)),
    limits: { prompts, rounds, decode },
    turn,
    threads,
    minutes,
    resume: resume === true,
    report: report === true,
    docs: docs === true,
    folder: out,
  }
}

const PEERS = ENGINES.map(({ name }) => name).filter((name) => name !== OURS)

const choices = (known: readonly string[]) => (text: string) => {
  const asked = text.split(',')
  const unknown = asked.filter((name) => !known.includes(name))
  if (unknown.length === 0) return asked
  throw new InvalidArgumentError(`${unknown.join(', ')} is not one of ${known.join(', ')}.`)
}

function number(text: string): number {
  const value = Number(text)
  if (value > 0) return value
  throw new InvalidArgumentError(`${text} is not a positive number.`)
}

const numbers = (text: string): number[] => text.split(',').map(number)
