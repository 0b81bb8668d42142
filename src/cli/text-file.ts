// Text files. In: a path, or nothing for stdin. Out: the text.
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { systemError } from './terminal/failure.ts'

/** UTF-8. Throws `format` if the file cannot be read. */
export async function readText(path: string | undefined): Promise<string> {
  if (path === undefined) return text(process.stdin)
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw systemError(cause, 'format', `the text file ${path} cannot be read`, 'check the path')
  }
}
