// `halfbyte tune`: trains a model on examples, compresses it, and compares it with the base model compressed
// in the same way.
import { Command } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { compressionNote, verdictOf } from '../../tune/compare-losses.ts'
import { floatLoss } from '../../tune/report-page.ts'
import { MODEL } from '../options.ts'
import { interruptible, visible } from '../terminal/failure.ts'
import { clearProgress } from '../terminal/output.ts'
import { checkName, checkOutput, checkReport } from '../write/check-output.ts'
import { runTune, type Tuned } from './run-tune.ts'
import { setUpPython } from './training-python.ts'
import { type GivenFlags, RATES, withTuneOptions } from './tune-flags.ts'

export function tuneCommand(): Command {
  const command = new Command('tune')
    .description(
      'Train a model on your examples, compress it to a .hbm pack, and compare it with the base model on held-out examples. Needs Python with torch, which --setup installs.',
    )
    .argument('[model]', MODEL)
    .argument(
      '[data.jsonl]',
      'examples, one in each line: {"messages": [...]}, {"prompt": "...", "completion": "..."} or {"text": "..."}',
    )
  return withTuneOptions(command).action(tune)
}

async function tune(model: string | undefined, data: string | undefined, flags: GivenFlags): Promise<void> {
  if (flags.setup === true) return setUp(flags)
  const { out } = flags
  if (model === undefined || data === undefined || out === undefined) {
    const missing = model === undefined ? 'a model is' : data === undefined ? 'the examples are' : '--out is'
    throw new HalfbyteError(
      'unsupported',
      `${missing} missing; give halfbyte tune MODEL data.jsonl --out pack.hbm`,
    )
  }
  const report = flags.report ?? `${out.replace(/\.hbm$/, '')}.html`
  checkName(out, 'hbm')
  await checkReport(report, 'page')
  for (const output of [out, report]) await checkOutput({ model, output, force: flags.force })
  const rate = flags.rate ?? (flags.whole === true ? RATES.whole : RATES.lora)
  const tuned = await interruptible((signal) =>
    runTune({ model, data, out, flags: { ...flags, rate, report } }, signal),
  ).finally(clearProgress)
  process.stdout.write(flags.json === true ? `${JSON.stringify(jsonOf(tuned))}\n` : visible(textOf(tuned)))
}

async function setUp({ python, index }: GivenFlags): Promise<void> {
  const { what, program } = await interruptible((signal) => setUpPython({ python, index }, signal)).finally(
    clearProgress,
  )
  process.stdout.write(visible(`ready: ${what} (${program})\n`))
}

function textOf({ out, report, bytes, seconds, comparison, samples, curve }: Tuned): string {
  const cost = compressionNote(comparison, floatLoss(curve) ?? Number.NaN)
  const { before, after, tokens, examples } = comparison
  const matches = (of: 'before' | 'after') =>
    samples.filter((each) => each[of].trim() === each.expected.trim()).length
  return [
    `${out}: ${bytes.after} bytes, ${seconds} s`,
    `on ${examples} held-out examples (${tokens} tokens): loss ${after.toFixed(4)} nats per token, base model ${before.toFixed(4)}`,
    ...(samples.length > 0
      ? [
          `answers equal to the expected one: ${matches('after')} of ${samples.length}, base model ${matches('before')}`,
        ]
      : []),
    verdictOf(comparison),
    ...(cost === undefined ? [] : [cost]),
    `report: ${report}`,
    '',
  ].join('\n')
}

function jsonOf({ comparison: { change, ...comparison }, curve, ...tuned }: Tuned): object {
  return {
    ...tuned,
    ...comparison,
    float: floatLoss(curve),
    change: { value: change.value, error: change.error },
  }
}
