// `halfbyte chat`: answers lines that are typed in a terminal, or piped. Ctrl-C stops an answer; twice exits.
import { createInterface } from 'node:readline'
import { Command, Option } from 'commander'
import type { Engine } from '../../../engine/api/engine.ts'
import type { SessionOptions } from '../../../engine/api/types.ts'
import { REPLY_OPTIONS } from '../../../engine/reply/reply-options.ts'
import { runChatCommand } from '../chat/chat-commands.ts'
import { Conversation } from '../chat/conversation.ts'
import { printReply } from '../chat/print-reply.ts'
import { talk } from '../chat/talk.ts'
import { openEngine } from '../command-engine.ts'
import {
  type EngineFlags,
  MODEL,
  parserOf,
  type VisionFlags,
  visionOption,
  withContextOption,
  withEngineOptions,
} from '../options.ts'
import { isSet } from '../processes.ts'
import { type SamplerFlags, samplerFlags, withSamplerOptions } from '../sampler-flags.ts'
import { interruptible, visible } from '../terminal/failure.ts'
import { type History, NO_HISTORY, openHistory } from '../terminal/history.ts'
import { note } from '../terminal/notes.ts'
import { offer } from '../terminal/offer.ts'

interface ChatFlags extends EngineFlags, SamplerFlags, VisionFlags {
  readonly system?: string
  readonly maxTokens?: number
  readonly overflow: NonNullable<SessionOptions['overflow']>
  readonly history: boolean
}

export function chatCommand(): Command {
  const command = new Command('chat')
    .description(
      'Talk to a model. Ctrl-C stops an answer; press it twice to exit, or Ctrl-D. Piped lines are answered too. /help lists the commands.',
    )
    .argument('<model>', MODEL)
    .option('--system <text>', 'instructions for the model')
    .addOption(visionOption())
    .option(
      '--max-tokens <n>',
      'maximum tokens per answer; default: until the context is full',
      parserOf(REPLY_OPTIONS.maxTokens),
    )
    .addOption(
      new Option(
        '--overflow <what>',
        'what happens when the context is full: shift drops the oldest messages, error ends the answer',
      )
        .choices(['shift', 'error'])
        .default('shift'),
    )
    .option('--no-history', 'do not save typed lines to a file; HALFBYTE_NO_HISTORY=1 does the same')
    .action(chat)
  return withSamplerOptions(withContextOption(withEngineOptions(command)))
}

async function chat(model: string, flags: ChatFlags): Promise<void> {
  const { system, overflow, maxTokens } = flags
  const open = (name: string, signal = new AbortController().signal) =>
    openModel(name, name === model ? flags : withoutCompanions(flags), signal)
  await using conversation = await interruptible(async (signal) => {
    const reply = { ...samplerFlags(flags), maxTokens }
    return new Conversation(await open(model, signal), { system, overflow, reply, open })
  })
  if (process.stdin.isTTY && process.stdout.isTTY) await talk(conversation, historyOf(flags))
  else await interruptible((signal) => answerLines(conversation, signal))
}

async function openModel(model: string, flags: ChatFlags, signal: AbortSignal): Promise<Engine> {
  await offer(model, flags, signal)
  return openEngine(model, flags, signal)
}

/** Files that belong to the model of the command line, and not to one that replaces it. */
const COMPANIONS = {
  lora: '--lora',
  vision: '--vision',
  draft: '--draft',
  chatTemplate: '--chat-template',
  architecture: '--architecture',
  dtype: '--dtype',
} as const satisfies Partial<Record<keyof ChatFlags, string>>

function withoutCompanions(flags: ChatFlags): ChatFlags {
  const names = Object.keys(COMPANIONS) as (keyof typeof COMPANIONS)[]
  const given = names.filter((name) => flags[name] !== undefined)
  if (given.length > 0)
    note(`without ${given.map((name) => COMPANIONS[name]).join(', ')}, which belong to the first model`)
  return { ...flags, ...Object.fromEntries(names.map((name) => [name, undefined])) }
}

const historyOf = ({ history }: ChatFlags): History =>
  history && !isSet('HALFBYTE_NO_HISTORY') ? openHistory() : NO_HISTORY

/**
 * Prints one answer per line of stdin, and nothing else on stdout: what commands say goes to stderr. Stops at
 * the first error.
 */
async function answerLines(chat: Conversation, signal: AbortSignal): Promise<void> {
  for await (const line of createInterface({ input: process.stdin, signal })) {
    if (line.trim() === '') continue
    const command = await runChatCommand(line, chat, { signal })
    const said = command === undefined ? chat.say(line, signal) : command.said
    if (typeof said === 'string') {
      process.stderr.write(`${visible(said)}\n`)
      continue
    }
    await printReply(said)
    process.stdout.write('\n')
    await said.result
    const cut = chat.contextNote()
    if (cut !== undefined) note(cut)
  }
  signal.throwIfAborted()
}
