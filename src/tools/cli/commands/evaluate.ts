// `halfbyte logits` and `halfbyte perplexity`: a model's raw logits for token ids, or its perplexity on a
// text.
import { Command, InvalidArgumentError } from 'commander'
import { areCounts } from '../../../core/base/values.ts'
import { perplexity } from '../../../engine/score/perplexity.ts'
import { readIds } from '../files.ts'
import { forwardRows, withModel } from '../models/model.ts'
import { demand, type EngineFlags, MODEL, whole, withEngineOptions } from '../options.ts'
import { interruptible } from '../terminal/failure.ts'
import { clearProgress, overwrite, shareProgress, writeOutput } from '../terminal/output.ts'
import { checkReport } from '../write/check-output.ts'

export function evaluateCommands(): readonly Command[] {
  const logits = new Command('logits')
    .description('Write the logits of every position as raw little-endian f32 [positions][vocab].')
    .argument('<model>', MODEL)
    .option('--tokens <ids>', 'comma-separated token ids', ids)
    .hook('preAction', demand('--tokens <ids>'))
    .option('--output <file>', 'output file; default: stdout')
    .action(writeLogits)
  const text = new Command('perplexity')
    .description("Perplexity of a text: each window's second half is scored, as in llama.cpp.")
    .argument('<model>', MODEL)
    .argument('<text file>', 'UTF-8 text')
    .option('--context <tokens>', 'tokens per window', whole(4), 256)
    .option('--chunks <n>', 'maximum windows; default: all', whole(1))
    .option('--json', 'print one JSON object')
    .action(scoreText)
  return [withEngineOptions(logits), withEngineOptions(text)]
}

interface LogitsFlags extends EngineFlags {
  readonly tokens: readonly number[]
  readonly output?: string
}

async function writeLogits(model: string, flags: LogitsFlags): Promise<void> {
  const { tokens } = flags
  await checkReport(flags.output, 'numbers')
  await interruptible(async (signal) => {
    const rows = await withModel(model, { ...flags, context: tokens.length }, signal, async (built) => {
      overwrite(`computing ${tokens.length} rows`)
      const rows: Uint8Array[] = []
      const keep = (position: number, row: Float32Array) => {
        rows[position] = new Uint8Array(row.slice().buffer)
      }
      await forwardRows(built)(tokens, keep, signal)
      return rows
    }).finally(clearProgress)
    await writeOutput(flags.output, rows, signal)
  })
}

interface PerplexityFlags extends EngineFlags {
  readonly context: number
  readonly chunks?: number
  readonly json?: true
}

async function scoreText(model: string, path: string, flags: PerplexityFlags): Promise<void> {
  const result = await interruptible((signal) =>
    withModel(model, flags, signal, async (built) => {
      const { context, chunks } = flags
      const show = shareProgress()
      overwrite('reading the text')
      const ids = await readIds(path, built.tokenizer, chunks === undefined ? undefined : chunks * context)
      return perplexity(ids, forwardRows(built), {
        context,
        chunks,
        bos: built.tokenizer.addsBos ? built.tokenizer.bosId : undefined,
        signal,
        onWindow: (done, total, value) => show(`${done} of ${total}: ${value.toFixed(4)}`, done / total),
      })
    }).finally(clearProgress),
  )
  const { perplexity: value, error, windows, scored } = result
  process.stdout.write(
    flags.json === true
      ? `${JSON.stringify(result)}\n`
      : `perplexity ${value.toFixed(4)} +/- ${error.toFixed(4)} (${windows} windows of ${flags.context}, ${scored} tokens scored)\n`,
  )
}

function ids(text: string): readonly number[] {
  const list = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)))
  if (areCounts(list)) return list
  throw new InvalidArgumentError('give token ids like 1,2,3.')
}
