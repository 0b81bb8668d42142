// Work folder. In: a path. Out: a job's files on disk, each written under another name first, so that none is
// ever half there.
import { mkdir, open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type ByteSource, filledSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { readWork, type WorkFiles } from '../../engine/calibrate/work-files.ts'
import { systemCode, systemError } from '../terminal/failure.ts'
import { writeOutput } from '../terminal/output.ts'

const SETTINGS = 'settings.json'

/**
 * Opens the folder of a job, which `settings` describes in full. With `resume`, goes on with what is there.
 * Throws `unsupported` when the folder holds another job, or one that nobody asked to resume.
 */
export async function openWork(path: string, settings: string, resume: boolean): Promise<WorkFiles> {
  const files = workFiles(path)
  const known = await readWork(files, SETTINGS)
  const found = known && new TextDecoder().decode(known)
  if (found === undefined && (await isThere(path))) {
    throw refused(path, 'is not empty and holds no unfinished job', 'choose another output or remove it')
  }
  if (found !== undefined && !resume)
    throw refused(path, 'holds an unfinished job', 'add --resume to go on with it, or remove it')
  if (found !== undefined && found !== settings)
    throw refused(path, 'holds a job with other settings, text or model', 'repeat those, or remove it')
  if (found === undefined) {
    await mkdir(path, { recursive: true }).catch((error) => {
      throw systemError(error, 'unsupported', `${path} cannot be made`, 'choose another place')
    })
    await files.write(SETTINGS, [new TextEncoder().encode(settings)])
  }
  return files
}

export const removeWork = (path: string): Promise<void> => rm(path, { recursive: true, force: true })

function workFiles(folder: string): WorkFiles {
  return {
    async open(name) {
      const path = join(folder, name)
      const size = await sizeOf(path)
      return size === undefined ? undefined : fileSource(path, size)
    },
    write: (name, chunks) => writeOutput(join(folder, name), chunks),
    remove: (name) => rm(join(folder, name), { force: true }),
  }
}

/** Opens the file for each read: a job has many files and reads each seldom. */
function fileSource(path: string, size: number): ByteSource {
  return filledSource(path, size, async (target, offset) => {
    const file = await open(path)
    try {
      for (let done = 0; done < target.byteLength; ) {
        const { bytesRead } = await file.read(target, done, target.byteLength - done, offset + done)
        if (bytesRead === 0) throw new HalfbyteError('integrity', `${path} became shorter; start again`)
        done += bytesRead
      }
    } finally {
      await file.close()
    }
  })
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined
    throw error
  }
}

const isThere = async (path: string): Promise<boolean> => (await sizeOf(path)) !== undefined

const refused = (path: string, what: string, next: string): HalfbyteError =>
  new HalfbyteError('unsupported', `the folder ${path} ${what}; ${next}`, { path })
