// Commands that are typed in place of a message in `halfbyte chat`.
import type { Session } from '../../../engine/api/types.ts'
import { writeOutput } from './output.ts'

interface ChatCommand {
  /** The command as users type it. */
  readonly form: string
  readonly about: string
  /** Runs the command and resolves to its output. */
  run(session: Session, argument: string): string | Promise<string>
}

const COMMANDS: ReadonlyMap<string, ChatCommand> = new Map(
  Object.entries({
    help: { form: '/help', about: 'list the commands', run: () => help() },
    reset: {
      form: '/reset',
      about: 'clear the conversation, but keep the system prompt',
      run(session) {
        session.setMessages([])
        return 'conversation cleared'
      },
    },
    save: {
      form: '/save FILE',
      about: 'write the conversation as JSON',
      async run(session, path) {
        if (path === '') return '/save needs a file, as in /save chat.json'
        const { messages } = session
        await writeOutput(path, [new TextEncoder().encode(`${JSON.stringify({ messages }, null, 2)}\n`)])
        return `${messages.length} messages are in ${path}`
      },
    },
  } satisfies Record<string, ChatCommand>),
)

function help(): string {
  const commands = [...COMMANDS.values()]
  const width = Math.max(...commands.map(({ form }) => form.length))
  return commands.map(({ form, about }) => `${form.padEnd(width)}  ${about}`).join('\n')
}

/**
 * Returns a command's output, or undefined for a line that is a message. A line with a space before the slash
 * is a message, and so is a path.
 */
export async function runChatCommand(line: string, session: Session): Promise<string | undefined> {
  const [, name, argument = ''] = /^\/([a-z]+)(?:\s+(.*?))?\s*$/.exec(line) ?? []
  if (name === undefined) return undefined
  const command = COMMANDS.get(name)
  if (command !== undefined) return command.run(session, argument)
  return argument === '' ? `there is no command /${name}; /help lists them` : undefined
}
