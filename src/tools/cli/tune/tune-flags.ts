// The options of `halfbyte tune`.
import { type Command, Option } from 'commander'
import { real, threadsOption, whole } from '../options.ts'
import { unused, withIgnored } from '../terminal/notes.ts'
import { forceOption } from '../write/check-output.ts'

/** Learning rates that suit adapters, and all weights. */
export const RATES = { lora: 2e-4, whole: 2e-5 } as const

export interface TuneFlags {
  readonly whole?: true
  readonly rank: number
  readonly alpha: number
  readonly epochs: number
  readonly rate: number
  readonly batch: number
  readonly context: number
  readonly heldOut: number
  readonly seed: number
  readonly method: 'gptq' | 'rtn'
  readonly weights: 'w4' | 'w4m' | 'w8' | 'w4_channel'
  readonly windows: number
  readonly samples: number
  readonly threads: number | 'auto'
  readonly python?: string
  readonly report: string
  readonly resume?: true
  readonly name?: string
  readonly license?: string
}

/** As typed. */
export interface GivenFlags
  extends Omit<TuneFlags, 'rate' | 'report'>,
    Partial<Pick<TuneFlags, 'rate' | 'report'>> {
  readonly out?: string
  readonly force?: true
  readonly json?: true
  readonly setup?: true
  readonly index?: string
}

export function withTuneOptions(command: Command): Command {
  command
    .option('--out <pack>', 'the .hbm file to write; <pack>.work holds the finished part until then')
    .option(
      '--whole',
      'train all weights instead of LoRA adapters, which takes four times the memory of the weights',
    )
    .option('--rank <n>', 'rank of the adapters', whole(1, 1024), 16)
    .option('--alpha <n>', 'the adapters count alpha / rank times', real(0), 32)
    .option('--epochs <n>', 'how often each example is learned', whole(1), 3)
    .option(
      '--rate <n>',
      `peak of the learning rate; default: ${RATES.lora}, with --whole ${RATES.whole}`,
      real(0, 1),
    )
    .option('--batch <n>', 'examples per step', whole(1), 8)
    .option(
      '--context <tokens>',
      'maximum tokens of an example; the rest of a longer one is not learned',
      whole(8),
      1024,
    )
    .option(
      '--held-out <share>',
      'share of the examples that is not learned but compared on',
      real(0.01, 0.9),
      0.1,
    )
    .option('--seed <n>', 'seed of the held-out examples, the order and the adapters', whole(0, 2 ** 32), 1)
    .addOption(
      new Option('--method <method>', 'how codes are chosen, as in quantize')
        .choices(['gptq', 'rtn'])
        .default('gptq'),
    )
    .addOption(
      new Option('--weights <format>', 'format of the matrices, as in quantize')
        .choices(['w4', 'w4m', 'w8', 'w4_channel'])
        .default('w4'),
    )
    .option('--windows <n>', 'maximum windows of the examples to calibrate on', whole(1), 16)
    .option('--samples <n>', 'held-out prompts that both models answer in the report', whole(0), 8)
    .addOption(threadsOption())
    .option(
      '--python <program>',
      'the Python that trains; default: the one that --setup made, or the system’s',
    )
    .option('--report <file>', 'the report page; default: <pack> with .html')
    .option('--resume', 'resume an unfinished run')
    .addOption(forceOption())
    .option('--name <name>', "the model's name; default: that of the pack")
    .option('--license <text>', 'licence to record in the pack')
    .option('--json', 'print one JSON object')
    .option(
      '--setup',
      'only set up Python with torch in the store’s folder, and say before what is downloaded',
    )
    .option('--index <url>', 'with --setup: the package index that torch comes from')
  return withIgnored(command, [
    unused('rank', '--whole'),
    unused('alpha', '--whole'),
    unused('windows', '--method', 'rtn'),
  ])
}
