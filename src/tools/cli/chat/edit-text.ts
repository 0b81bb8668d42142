// Edits a text in the user's own editor. In: a text. Out: the text as it was saved.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { systemError } from '../terminal/failure.ts'

/** The command that `$VISUAL` or `$EDITOR` names; undefined if there is none. */
export const editorOf = (env: NodeJS.ProcessEnv = process.env): string | undefined =>
  env['VISUAL']?.trim() || env['EDITOR']?.trim() || undefined

/**
 * Opens the text in `editor`, which has the terminal until it ends. Throws `unsupported` if it cannot be
 * started or fails; the text then stays as it was.
 */
export async function editText(text: string, editor: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'halfbyte-edit-'))
  const path = join(folder, 'message.md')
  try {
    await writeFile(path, text, { mode: 0o600 })
    await runEditor(editor, path)
    return await readFile(path, 'utf8')
  } catch (error) {
    throw systemError(
      error,
      'unsupported',
      `the message cannot be edited in ${editor}`,
      'set EDITOR to another',
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The name may have options, such as `code --wait`, so a shell reads it, as for git. */
function runEditor(editor: string, path: string): Promise<void> {
  const child =
    process.platform === 'win32'
      ? spawn(`${editor} "${path}"`, { shell: true, stdio: 'inherit' })
      : spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', path], { stdio: 'inherit' })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      if (code === 0) resolve()
      else {
        const why = `${editor} ended with ${signal ?? code}, so the message stays as it was`
        reject(new HalfbyteError('unsupported', `${why}; set EDITOR to another editor`, { editor }))
      }
    })
  })
}
