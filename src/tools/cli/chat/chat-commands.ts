// Commands that are typed in place of a message in `halfbyte chat`.
import type { Generation } from '../../../engine/api/types.ts'
import type { Conversation } from './conversation.ts'
import { homePath } from './home-path.ts'

/** A text to show, or an answer to stream. */
type CommandResult = string | Generation

/** What a command may use besides the conversation. */
interface CommandContext {
  readonly signal?: AbortSignal | undefined
  /** Lets the user change a text; resolves to undefined if they give up. Absent in a pipe. */
  readonly edit?: ((text: string) => Promise<string | undefined>) | undefined
}

/** What the argument of a command names, so that it can be completed. */
export type ArgumentKind = 'file' | 'conversation' | 'picture' | 'model'

interface ChatCommand {
  /** The command as users type it. */
  readonly form: string
  readonly about: string
  readonly argument?: ArgumentKind
  /** Runs the command and resolves to its output. */
  run(chat: Conversation, argument: string, context: CommandContext): CommandResult | Promise<CommandResult>
}

/** A command that needs a file. */
const withFile = (
  name: string,
  argument: ArgumentKind,
  about: string,
  run: (chat: Conversation, path: string) => Promise<string>,
): ChatCommand => {
  const example = argument === 'picture' ? 'photo.jpg' : argument === 'file' ? 'notes.txt' : 'chat.json'
  const missing = `/${name} needs a file, as in /${name} ${example}`
  return {
    form: `/${name} FILE`,
    argument,
    about,
    run: (chat, path) => (path === '' ? missing : run(chat, homePath(path))),
  }
}

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
      run: (chat, _, { signal }) => chat.retry(signal),
    },
    edit: {
      form: '/edit TEXT',
      about: 'replace the last message and answer it; without TEXT, edit it in $VISUAL, $EDITOR or the line',
      run: editMessage,
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
    model: {
      form: '/model NAME',
      argument: 'model',
      about: 'continue with another model; without NAME, show the name of this one',
      async run(chat, model, { signal }) {
        if (model === '') return chat.modelName
        await chat.switchTo(homePath(model), signal)
        return `${chat.modelName} continues the conversation`
      },
    },
    stats: { form: '/stats', about: 'tokens and speed of the last answer', run: (chat) => chat.stats() },
    file: withFile('file', 'file', 'add a text file to the next message', async (chat, path) => {
      await chat.attach(path)
      return `${path} goes with the next message`
    }),
    image: withFile('image', 'picture', 'add a picture to the next message', async (chat, path) => {
      await chat.attachPicture(path)
      return `${path} goes with the next message`
    }),
    save: withFile('save', 'conversation', 'write the conversation as JSON', async (chat, path) => {
      await chat.save(path)
      return `${chat.messages.length} messages are in ${path}`
    }),
    load: withFile('load', 'conversation', 'continue a conversation that /save wrote', async (chat, path) => {
      await chat.load(path)
      return `${chat.messages.length} messages loaded`
    }),
  } satisfies Record<string, ChatCommand>),
)

/** The commands and what their arguments name, for completion. */
export const COMMAND_ARGUMENTS: ReadonlyMap<string, ArgumentKind | undefined> = new Map(
  [...COMMANDS].map(([name, { argument }]) => [name, argument]),
)

async function editMessage(
  chat: Conversation,
  text: string,
  { signal, edit }: CommandContext,
): Promise<CommandResult> {
  const before = chat.lastAsked
  if (before === undefined || text !== '') return chat.edit(text, signal)
  if (edit === undefined) return '/edit needs the new text here, as in /edit What is 2 + 3?'
  const after = (await edit(before))?.trimEnd()
  if (after === undefined || after.trim() === '' || after === before.trimEnd())
    return 'the message stays as it was'
  return chat.edit(after, signal)
}

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
  context: CommandContext = {},
): Promise<{ readonly said: CommandResult } | undefined> {
  const [, name, argument = ''] = /^\/([a-z]+)(?:[^\S\n]+(.*?))?[^\S\n]*$/.exec(line) ?? []
  if (name === undefined) return undefined
  const command = COMMANDS.get(name)
  if (command !== undefined) return { said: await command.run(chat, argument, context) }
  return argument === '' ? { said: `there is no command /${name}; /help lists them` } : undefined
}
