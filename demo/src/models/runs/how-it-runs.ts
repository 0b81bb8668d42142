// How a model runs. In: an engine, its memory, its last answers, its measured ops. Out: facts to show, and a
// report of them as Markdown.
import type { StepAnalysis } from '../../../../lab/bench/roofline/analyse.ts'
import type { Engine, MemoryUse } from '../../../../src/index.ts'
import { numberText } from '../../../../src/ui/words/message.ts'
import type { Figures } from '../../conversation/answer.ts'
import { bytes, milliseconds, parameters, speed } from '../../shell/units.ts'
import { type LaterWord, t } from '../../words/later-words.ts'
import { language, noteText } from '../../words/words.ts'
import { opTables } from './op-rows.ts'

export type Fact = readonly [name: string, value: string]

export const ANSWER_COLUMNS = ['colSpeed', 'colFirst', 'colRead', 'colWritten'] as const satisfies LaterWord[]

/** The engine's model and set-up. */
export function engineFacts({ model, threads, pool, build, notes }: Engine): readonly Fact[] {
  return [
    [
      t('factModel'),
      t('factModelMore', {
        name: model.id,
        architecture: model.architecture,
        count: parameters(model.parameters),
      }),
    ],
    [t('factContext'), t('tokens', { count: model.contextLength })],
    [t('factThreads'), t('cores', { count: threads, cores: navigator.hardwareConcurrency })],
    [t('factPool'), pool],
    [t('factKernels'), build],
    ...notes.map((note) => [t('factNote'), noteText(note)] as const),
  ]
}

export function memoryFacts(memory: MemoryUse): readonly Fact[] {
  return [
    [t('factWeights'), bytes(memory.weightsBytes)],
    [t('factState'), bytes(memory.stateBytes)],
    [t('factKept'), bytes(memory.keptBytes)],
    [t('factArena'), bytes(memory.arenaBytes)],
    [t('factAll'), bytes(memory.totalBytes)],
  ]
}

/** One row for each answer, newest first, in the order of `ANSWER_COLUMNS`. */
export function answerRows(answers: readonly Figures[]): readonly (readonly string[])[] {
  return answers
    .toReversed()
    .map((answer) => [
      speed(answer.tokensPerSecond),
      milliseconds(answer.firstTokenMs),
      t('readOf', { read: answer.readTokens, all: answer.promptTokens }),
      numberText(answer.writtenTokens, language()),
    ])
}

/**
 * Bytes of weights read per second in the last answers: each token reads all weights. Memory bandwidth limits
 * this rate. Undefined if no answer has a speed.
 */
export function readRate(memory: MemoryUse, answers: readonly Figures[]): number | undefined {
  const speeds = answers.map(({ tokensPerSecond }) => tokensPerSecond).filter((rate) => rate > 0)
  if (speeds.length === 0) return undefined
  return memory.weightsBytes * Math.max(...speeds)
}

/** `steps`: empty unless the ops were measured. */
export function report(
  engine: Engine,
  memory: MemoryUse,
  answers: readonly Figures[],
  steps: readonly StepAnalysis[],
): string {
  const list = (facts: readonly Fact[]) => facts.map(([name, value]) => `- ${name}: ${value}`).join('\n')
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const table = [
    ANSWER_COLUMNS.map((name) => t(name)),
    ANSWER_COLUMNS.map(() => '--:'),
    ...answerRows(answers),
  ]
    .map(row)
    .join('\n')
  return `# Halfbyte: ${t('howItRuns')}

${list(engineFacts(engine))}
- ${t('browser', { name: navigator.userAgent })}

## ${t('memory')}

${list(memoryFacts(memory))}

## ${t('lastAnswers')}

${answers.length === 0 ? t('noAnswers') : table}
${steps.length === 0 ? '' : `\n## ${t('ops')}\n\n${opTables(steps)}`}`
}
