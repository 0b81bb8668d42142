// How it runs. In: an engine, its memory and its last answers. Out: facts to show, and a report of them as
// Markdown.
import type { Engine, MemoryUse } from '../../../src/index.ts'
import type { Figures } from '../conversation/chat.ts'
import { bytes, parameters, speed } from '../shell/units.ts'

export type Fact = readonly [name: string, value: string]

export const ANSWER_COLUMNS = ['Tokens/s', 'First token', 'Read', 'Written'] as const

/** What the engine is, and how it is set up. */
export function engineFacts({ model, threads, pool, build, note }: Engine): readonly Fact[] {
  return [
    ['Model', `${model.id}, ${model.architecture}, ${parameters(model.parameters)} parameters`],
    ['Context', `${model.contextLength} tokens`],
    ['Threads', `${threads} of ${navigator.hardwareConcurrency} cores`],
    ['Pool', pool],
    ['Kernels', build],
    ...(note === undefined ? [] : [['Note', note] as const]),
  ]
}

export function memoryFacts(memory: MemoryUse): readonly Fact[] {
  return [
    ['Weights', bytes(memory.weightsBytes)],
    ['Conversations', bytes(memory.stateBytes)],
    ['Kept for others', bytes(memory.keptBytes)],
    ['Activations', bytes(memory.arenaBytes)],
    ['All, with free parts', bytes(memory.totalBytes)],
  ]
}

/** One row for each answer, newest first, in the order of `ANSWER_COLUMNS`. */
export function answerRows(answers: readonly Figures[]): readonly (readonly string[])[] {
  return answers
    .toReversed()
    .map((answer) => [
      speed(answer.tokensPerSecond),
      `${Math.round(answer.firstTokenMs)} ms`,
      `${answer.readTokens} of ${answer.promptTokens}`,
      String(answer.writtenTokens),
    ])
}

/**
 * Bytes of weights that the last answers read per second: all of them for each token. A device's memory sets
 * the limit. Undefined without an answer that has a speed.
 */
export function readRate(memory: MemoryUse, answers: readonly Figures[]): number | undefined {
  const speeds = answers.map(({ tokensPerSecond }) => tokensPerSecond).filter((rate) => rate > 0)
  if (speeds.length === 0) return undefined
  return memory.weightsBytes * Math.max(...speeds)
}

export function report(engine: Engine, memory: MemoryUse, answers: readonly Figures[]): string {
  const list = (facts: readonly Fact[]) => facts.map(([name, value]) => `- ${name}: ${value}`).join('\n')
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const table = [ANSWER_COLUMNS, ANSWER_COLUMNS.map(() => '--:'), ...answerRows(answers)].map(row).join('\n')
  return `# How Halfbyte runs

${list(engineFacts(engine))}
- Browser: ${navigator.userAgent}

## Memory

${list(memoryFacts(memory))}

## Last answers

${answers.length === 0 ? 'None yet.' : table}
`
}
