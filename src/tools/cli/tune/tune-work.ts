// The work folder of a training: the model as a folder for the trainer, and the examples as token ids.
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { HalfbyteError, reasonOf } from '../../../core/base/errors.ts'
import { modelText, modelTokenizer } from '../../../engine/load/model-text.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { type EncodedExample, encodeExample } from '../../tune/encode-example.ts'
import type { Example } from '../../tune/examples.ts'
import { writeOutput } from '../terminal/output.ts'
import { WEIGHTS_FILE } from '../write/write-model.ts'

/** Absolute paths in the work folder. */
export function workPaths(folder: string) {
  const at = (name: string) => join(resolve(folder), name)
  return {
    base: at('base'),
    tuned: at('tuned'),
    job: at('trainer.json'),
    train: at('train.jsonl'),
    held: at('held.jsonl'),
    calibration: at('calibration.jsonl'),
    checkpoint: at('checkpoint.pt'),
    curve: at('curve.json'),
    packs: { base: at('base.hbm'), tuned: at('tuned.hbm') },
  }
}

export type WorkPaths = ReturnType<typeof workPaths>

/** Whether the folder of a model is complete. */
export const isModelFolder = (folder: string): boolean => existsSync(join(folder, 'config.json'))

export const weightsIn = (folder: string): string => join(folder, WEIGHTS_FILE)

/** The text side of a model, with the sequences' maximum length. */
export function textSide({ file, plan }: PreparedModel, context: number) {
  const tokenizer = modelTokenizer(file, plan.logits.width)
  return { tokenizer, renderPrompt: modelText(tokenizer).renderPrompt, context }
}

/**
 * Examples without a learned token in the context are left out. Throws `format` with the line that the
 * template rejects.
 */
export function encodeAll(
  data: string,
  examples: readonly Example[],
  side: ReturnType<typeof textSide>,
): EncodedExample[] {
  return examples
    .map((example) => {
      try {
        return encodeExample(example, side)
      } catch (cause) {
        throw new HalfbyteError(
          'format',
          `${data}: line ${example.line} cannot be rendered with the model's chat template (${reasonOf(cause)}); fix the line, or remove it`,
          { line: example.line },
          { cause },
        )
      }
    })
    .filter(({ sequences }) => sequences.length > 0)
}

export const tokensOf = (examples: readonly EncodedExample[]): number =>
  examples.flatMap(({ sequences }) => sequences).reduce((sum, { ids }) => sum + ids.length, 0)

/** Writes what the trainer and the calibration read. */
export async function writeExamples(
  paths: WorkPaths,
  train: readonly EncodedExample[],
  held: readonly EncodedExample[],
): Promise<void> {
  const lines = (values: readonly unknown[]) => [
    new TextEncoder().encode(values.map((value) => `${JSON.stringify(value)}\n`).join('')),
  ]
  await writeOutput(paths.train, lines(train.flatMap(({ sequences }) => sequences)))
  await writeOutput(paths.held, lines(held.flatMap(({ sequences }) => sequences)))
  await writeOutput(paths.calibration, lines(train.map(({ example }) => example.source)))
}

/** Copies configuration and tokenizer next to the tuned weights, config.json last. */
export async function completeFolder(base: string, tuned: string): Promise<void> {
  const names = (await readdir(base)).filter((name) => name.endsWith('.json') && name !== 'config.json')
  for (const name of [...names, 'config.json']) await copyFile(join(base, name), join(tuned, name))
}

export const makeTunedFolder = (paths: WorkPaths): Promise<unknown> => mkdir(paths.tuned, { recursive: true })
