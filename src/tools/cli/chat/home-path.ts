// Paths as people type them in the chat, where no shell expands `~`.
import { homedir } from 'node:os'
import { join } from 'node:path'

/** The path with a leading `~/` replaced by the home folder. */
export const homePath = (path: string): string =>
  /^~[\\/]/.test(path) ? join(homedir(), path.slice(2)) : path
