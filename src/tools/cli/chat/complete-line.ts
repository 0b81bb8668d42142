// Completes a line of `halfbyte chat`. In: the line up to the cursor. Out: what may follow: commands, and
// what their arguments name.
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { CATALOGUE } from '../../../core/store/catalogue.ts'
import { EMBEDDED } from '../models/embedded.ts'
import { type ArgumentKind, COMMAND_ARGUMENTS } from './chat-commands.ts'
import { homePath } from './home-path.ts'

/** The possible completions, and the part of the line that they replace: readline's own form. */
type Completions = readonly [found: readonly string[], replaced: string]

/** Names of files that an argument may name; folders always may. */
const FILES: Readonly<Record<ArgumentKind, RegExp>> = {
  file: /./,
  conversation: /\.json$/i,
  picture: /\.(png|jpe?g)$/i,
  model: /\.(gguf|hbm|onnx|safetensors)$/i,
}

export function completeLine(line: string): Completions {
  const [, name = '', gap = '', argument = ''] = /^\/([a-z]*)(\s+)?(.*)$/s.exec(line) ?? []
  if (!line.startsWith('/') || line.includes('\n')) return [[], line]
  if (gap === '') {
    const names = [...COMMAND_ARGUMENTS.keys()].filter((each) => each.startsWith(name))
    return [names.map((each) => `/${each}${COMMAND_ARGUMENTS.get(each) === undefined ? '' : ' '}`), line]
  }
  const kind = COMMAND_ARGUMENTS.get(name)
  if (kind === undefined) return [[], line]
  const models = kind === 'model' ? modelNames().filter((each) => each.startsWith(argument)) : []
  return [[...models, ...paths(argument, FILES[kind])], argument]
}

const modelNames = (): readonly string[] => [...EMBEDDED, ...CATALOGUE].map(({ id }) => id)

/** Files and folders whose path begins with `text`. Hidden ones only if it names the dot. */
function paths(text: string, wanted: RegExp): string[] {
  const typed = text.slice(0, Math.max(text.lastIndexOf('/'), text.lastIndexOf('\\')) + 1)
  const start = text.slice(typed.length)
  try {
    return readdirSync(folderOf(typed), { withFileTypes: true })
      .filter(({ name }) => name.startsWith(start) && (start !== '' || !name.startsWith('.')))
      .flatMap((entry) => {
        // A symbolic link may point to a folder, so it is offered whatever its name is.
        if (entry.isDirectory()) return [`${typed}${entry.name}/`]
        return wanted.test(entry.name) || entry.isSymbolicLink() ? [typed + entry.name] : []
      })
      .sort()
  } catch {
    return []
  }
}

const folderOf = (typed: string): string => dirname(`${homePath(typed) || './'}x`)
