// `halfbyte chat`: answers lines that are typed in a terminal, or piped. Ctrl-C stops an answer; twice exits.
import { createInterface } from 'node:readline'
import { Command, Option } from 'commander'
import type { SessionOptions } from '../../../engine/api/types.ts'
import { REPLY_OPTIONS } from '../../../engine/reply/reply-options.ts'
import { openEngine } from '../command-engine.ts'
import { type EngineFlags, MODEL, parserOf, withContextOption, withEngineOptions } from '../options.ts'
import { type SamplerFlags, samplerFlags, withSamplerOptions } from '../sampler-flags.ts'
import { runChatCommand } from '../terminal/chat-commands.ts'
import { Conversation } from '../terminal/conversation.ts'
import { interruptible, visible } from '../terminal/failure.ts'
import { type History, NO_HISTORY, openHistory } from '../terminal/history.ts'
import { note } from '../terminal/notes.ts'
import { offer } from '../terminal/offer.ts'
import { printReply, talk } from '../terminal/talk.ts'

interface ChatFlags extends EngineFlags, SamplerFlags {
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
  await using engine = await interruptible(async (signal) => {
    await offer(model, flags, signal)
    return openEngine(model, flags, signal)
  })
  const { system, overflow, maxTokens } = flags
  const conversation = new Conversation(engine, {
    system,
    overflow,
    reply: { ...samplerFlags(flags), maxTokens },
  })
  if (process.stdin.isTTY && process.stdout.isTTY) await talk(conversation, historyOf(flags))
  else await interruptible((signal) => answerLines(conversation, signal))
}

const historyOf = ({ history }: ChatFlags): History =>
  history && (process.env['HALFBYTE_NO_HISTORY'] ?? '') === '' ? openHistory() : NO_HISTORY

/**
 * Prints one answer per line of stdin, and nothing else on stdout: what commands say goes to stderr. Stops at
 * the first error.
 */
async function answerLines(chat: Conversation, signal: AbortSignal): Promise<void> {
  for await (const line of createInterface({ input: process.stdin, signal })) {
    if (line.trim() === '') continue
    const command = await runChatCommand(line, chat, signal)
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
