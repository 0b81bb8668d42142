// Commands that are typed in place of a message in `halfbyte chat`.
import type { Generation } from '../../../engine/api/types.ts'
import type { Conversation } from './conversation.ts'

/** Text to show, or an answer to print. */
type CommandResult = string | Generation

interface ChatCommand {
  /** The command as users type it. */
  readonly form: string
  readonly about: string
  /** Runs the command and resolves to its output. */
  run(chat: Conversation, argument: string, signal?: AbortSignal): CommandResult | Promise<CommandResult>
}

/** A command that needs a file. */
const withFile = (
  name: string,
  about: string,
  run: (chat: Conversation, path: string) => Promise<string>,
): ChatCommand => ({
  form: `/${name} FILE`,
  about,
  run: (chat, path) => (path === '' ? `/${name} needs a file, as in /${name} chat.json` : run(chat, path)),
})

const COMMANDS: ReadonlyMap<string, ChatCommand> = new Map(
  Object.entries({
    help: { form: '/help', about: 'list the commands', run: () => help() },
    reset: {
      form: '/reset',
      about: 'clear the conversation, but keep the system prompt',
      async run(chat) {
        await chat.reset()
        return 'conversation cleared'
      },
    },
    retry: {
      form: '/retry',
      about: 'answer the last message again',
      run: (chat, _, signal) => chat.retry(signal),
    },
    system: {
      form: '/system TEXT',
      about: 'replace the system prompt; without TEXT, show it; - removes it',
      async run(chat, text) {
        if (text === '') return chat.system ?? 'there is no system prompt'
        await chat.setSystem(text === '-' ? undefined : text)
        return text === '-' ? 'system prompt removed' : 'system prompt replaced'
      },
    },
    stats: { form: '/stats', about: 'tokens and speed of the last answer', run: (chat) => chat.stats() },
    file: withFile('file', 'add a text file to the next message', async (chat, path) => {
      await chat.attach(path)
      return `${path} goes with the next message`
    }),
    save: withFile('save', 'write the conversation as JSON', async (chat, path) => {
      await chat.save(path)
      return `${chat.messages.length} messages are in ${path}`
    }),
    load: withFile('load', 'continue a conversation that /save wrote', async (chat, path) => {
      await chat.load(path)
      return `${chat.messages.length} messages loaded`
    }),
  } satisfies Record<string, ChatCommand>),
)

function help(): string {
  const commands = [...COMMANDS.values()]
  const width = Math.max(...commands.map(({ form }) => form.length))
  const lines = commands.map(({ form, about }) => `${form.padEnd(width)}  ${about}`)
  return [
    ...lines,
    'A message of several lines: paste it, end lines with \\, or put """ before and after it.',
  ].join('\n')
}

/**
 * Returns a command's output, or undefined for a message. A line with a space before the slash is a message,
 * and so are a path and several lines.
 */
export async function runChatCommand(
  line: string,
  chat: Conversation,
  signal?: AbortSignal,
): Promise<{ readonly said: CommandResult } | undefined> {
  const [, name, argument = ''] = /^\/([a-z]+)(?:[^\S\n]+(.*?))?[^\S\n]*$/.exec(line) ?? []
  if (name === undefined) return undefined
  const command = COMMANDS.get(name)
  if (command !== undefined) return { said: await command.run(chat, argument, signal) }
  return argument === '' ? { said: `there is no command /${name}; /help lists them` } : undefined
}
