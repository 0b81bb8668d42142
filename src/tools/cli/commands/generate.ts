// `halfbyte generate`: continues a prompt, streaming the text or printing one JSON object.
import { Command } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { SAMPLER_NUMBERS } from '../../../core/generate/sampler/sampler-options.ts'
import type { GenerationResult } from '../../../engine/api/types.ts'
import { REPLY_OPTIONS } from '../../../engine/reply/reply-options.ts'
import { openEngine } from '../command-engine.ts'
import { readText } from '../files.ts'
import {
  type EngineFlags,
  MODEL,
  parserOf,
  repeated,
  type VisionFlags,
  visionOption,
  withContextOption,
  withEngineOptions,
} from '../options.ts'
import { readPicture } from '../pictures/read-picture.ts'
import {
  type ConstraintFlags,
  constraintOptions,
  type SamplerFlags,
  samplerFlags,
  withConstraintOptions,
  withSamplerOptions,
} from '../sampler-flags.ts'
import { interruptible, replyPiece, visible } from '../terminal/failure.ts'
import { contextNote, needs, note, unused, withIgnored } from '../terminal/notes.ts'

interface GenerateFlags extends EngineFlags, SamplerFlags, ConstraintFlags, VisionFlags {
  readonly prompt?: string
  readonly system?: string
  readonly maxTokens: number
  readonly image?: readonly string[]
  readonly stop?: readonly string[]
  readonly raw?: true
  readonly logprobs?: number
  readonly json?: true
}

export function generateCommand(): Command {
  const command = new Command('generate')
    .description('Answer a message, or with --raw continue a text.')
    .argument('<model>', MODEL)
    .argument('[prompt]', 'the message, or with --raw the text to continue; - reads it from stdin')
    .option('--prompt <text>', 'the prompt, as an option')
    .option('--system <text>', 'instructions for the model')
    .hook('preAction', demandPrompt)
    .addOption(visionOption())
    .option('--image <file>', 'a PNG or JPEG to ask about, for vision models; repeatable', repeated)
    .option('--max-tokens <n>', 'maximum tokens to generate', parserOf(REPLY_OPTIONS.maxTokens), 128)
    .option('--stop <text>', 'a text that ends the answer; repeatable', repeated)
    .option('--raw', 'continue the bare text, without the chat template')
    .option(
      '--logprobs <n>',
      'with --json: log-probabilities of each token and of the n most likely',
      parserOf(SAMPLER_NUMBERS.logprobs),
    )
    .option('--json', 'print one JSON object at the end instead of text')
    .action((model: string, prompt: string | undefined, flags: GenerateFlags) =>
      interruptible((signal) => generate(model, prompt ?? flags.prompt ?? '', flags, signal)),
    )
  const full = withSamplerOptions(withContextOption(withEngineOptions(withConstraintOptions(command))))
  return withIgnored(full, [
    needs('logprobs', '--json'),
    ...['system', 'chatTemplate'].map((option) => unused(option, '--raw')),
  ])
}

/** The prompt, given as an argument or an option. */
function demandPrompt(command: Command): void {
  const given = [command.args[1], command.getOptionValue('prompt')].filter((text) => text !== undefined)
  if (given.length === 0) command.error("error: missing argument 'prompt'; give the text to answer")
  if (given.length > 1) command.error('error: there are two prompts; omit the argument or --prompt')
}

async function generate(
  model: string,
  given: string,
  flags: GenerateFlags,
  signal: AbortSignal,
): Promise<void> {
  const started = performance.now()
  if (flags.raw === true && flags.image !== undefined)
    throw new HalfbyteError('unsupported', 'bare text cannot contain a picture; omit --raw or --image')
  const images = await Promise.all((flags.image ?? []).map(readPicture))
  const constraint = await constraintOptions(flags)
  const prompt = given === '-' ? await readText(undefined) : given
  await using engine = await openEngine(model, flags, signal)
  const loadMs = performance.now() - started
  const options = {
    ...samplerFlags(flags),
    ...constraint,
    logprobs: flags.logprobs,
    maxTokens: flags.maxTokens,
    stop: flags.stop,
    signal,
  }
  const generation =
    flags.raw === true
      ? engine.complete(prompt, options)
      : engine
          .createSession({ system: flags.system })
          .send({ role: 'user', content: prompt, ...(images.length > 0 && { images }) }, options)
  if (flags.json !== true) {
    for await (const chunk of generation) process.stdout.write(replyPiece(chunk))
    process.stdout.write('\n')
  }
  const result = await generation.result
  const cut = contextNote(result, engine.model.contextLength, flags.maxTokens)
  if (cut !== undefined) note(cut)
  if (flags.json === true) {
    const { totalBytes } = await engine.memory()
    process.stdout.write(`${visible(JSON.stringify(report(result, loadMs, totalBytes)))}\n`)
  }
}

function report(
  { text, reasoning, tokens, logprobs, finishReason, usage, timings }: GenerationResult,
  loadMs: number,
  memoryBytes: number,
) {
  const { prefillMs, decodeMs, prefillTokensPerSecond, decodeTokensPerSecond } = timings
  return {
    promptTokens: usage.promptTokens,
    tokens,
    logprobs,
    text,
    reasoning,
    finishReason,
    timings: { loadMs, prefillMs, decodeMs, prefillTokensPerSecond, decodeTokensPerSecond },
    memoryBytes,
  }
}
