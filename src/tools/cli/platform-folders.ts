// The platform's folders for state and for what can be fetched again, by its own conventions.
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

interface Conventions {
  /** The folder in `Library` on macOS. */
  readonly library: string
  /** The variable that names the folder on other Unix systems, and the default below the home folder. */
  readonly xdg: string
  readonly inHome: readonly string[]
}

/** What a folder depends on. Default: that of this process. */
type Surroundings = [
  env?: Readonly<Record<string, string | undefined>>,
  platform?: NodeJS.Platform,
  home?: string,
]

function folderOf(
  { library, xdg, inHome }: Conventions,
  ...[env = process.env, platform = process.platform, home = homedir()]: Surroundings
): string {
  if (platform === 'win32') return join(env['LOCALAPPDATA'] || join(home, 'AppData', 'Local'), 'halfbyte')
  if (platform === 'darwin') return join(home, 'Library', library, 'halfbyte')
  return join(env[xdg] || join(home, ...inHome), 'halfbyte')
}

/** The folder for a program's state. */
export const stateFolder = (...surroundings: Surroundings): string =>
  folderOf(
    { library: 'Application Support', xdg: 'XDG_STATE_HOME', inHome: ['.local', 'state'] },
    ...surroundings,
  )

/** The folder of stored models: `HALFBYTE_HOME`, or the platform's folder for caches. */
export function storeFolder(...surroundings: Surroundings): string {
  const [env = process.env] = surroundings
  if (env['HALFBYTE_HOME']) return resolve(env['HALFBYTE_HOME'])
  return folderOf({ library: 'Caches', xdg: 'XDG_CACHE_HOME', inHome: ['.cache'] }, ...surroundings)
}
