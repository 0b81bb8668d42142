// Work folder. In: a path, what a job depends on. Out: the job's files on disk, each written under another
// name first, so that none is ever half there; no other process works on them.
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type ByteSource, filledSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { isObject } from '../../base/values.ts'
import { pathInside } from '../../formats/names/named-files.ts'
import { readWork, type WorkFiles } from '../../shrink/calibrate/work-files.ts'
import { systemCode, systemError } from '../terminal/failure.ts'
import { PART, writeOutput } from '../terminal/output.ts'
import type { JobKey } from './job-key.ts'
import { isLock, lockFolder } from './work-lock.ts'

const KEY = 'job.json'

/** A job's files, until `remove` deletes them all. */
export interface Work extends WorkFiles {
  removeAll(): Promise<void>
}

/**
 * Opens the folder of a job. With `resume`, goes on with what is there. A folder that a process left before
 * there was any work in it is taken as a new one. Throws `unsupported` when the folder holds something else,
 * a job with another key, one that nobody asked to resume, or one that another process works on.
 */
export async function openWork(path: string, key: JobKey, resume: boolean): Promise<Work> {
  const names = await namesIn(path)
  const isOwn = names.includes(KEY) || names.every((name) => isLock(name) || name === KEY + PART)
  if (!isOwn)
    throw refused(path, 'is not empty and holds no unfinished job', 'choose another output or remove it')
  await mkdir(path, { recursive: true }).catch((error) => {
    throw systemError(error, 'unsupported', `${path} cannot be made`, 'choose another place')
  })
  const lock = await lockFolder(path)
  try {
    const files = workFiles(path)
    const known = await readWork(files, KEY)
    if (known === undefined) await files.write(KEY, [new TextEncoder().encode(JSON.stringify(key))])
    else checkKey(path, new TextDecoder().decode(known), key, resume)
    const removeAll = async () => {
      // Under another name first: a folder that is half removed is no job to go on with.
      const removed = `${path}.removed`
      await rm(removed, { recursive: true, force: true })
      await rename(path, removed)
      lock.forget()
      await rm(removed, { recursive: true, force: true })
    }
    return { ...files, removeAll }
  } catch (error) {
    lock.release()
    throw error
  }
}

function checkKey(path: string, text: string, key: JobKey, resume: boolean): void {
  if (!resume) throw refused(path, 'holds an unfinished job', 'add --resume to go on with it, or remove it')
  const known = parsed(text)
  const parts = [...new Set([...Object.keys(key), ...Object.keys(known)])]
  const others = parts.filter((part) => JSON.stringify(known[part]) !== JSON.stringify(key[part]))
  if (others.length === 0) return
  throw refused(
    path,
    `holds a job that differs from this one in ${others.join(', ')}`,
    'repeat that job as it was, or remove the folder to begin again',
  )
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = parseJson(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function workFiles(folder: string): WorkFiles {
  // Matrices are called as the model's file calls them.
  const pathOf = (name: string) => join(folder, pathInside(name, 'the model'))
  return {
    async open(name) {
      const path = pathOf(name)
      const size = await sizeOf(path)
      return size === undefined ? undefined : fileSource(path, size)
    },
    write: (name, chunks) => writeOutput(pathOf(name), chunks),
    remove: (name) => rm(pathOf(name), { force: true }),
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

/** None if there is no such folder. Throws `unsupported` for what is no folder. */
async function namesIn(path: string): Promise<readonly string[]> {
  try {
    return await readdir(path)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw systemError(error, 'unsupported', `the work folder ${path} cannot be read`, 'choose another output')
  }
}

const refused = (path: string, what: string, next: string): HalfbyteError =>
  new HalfbyteError('unsupported', `the folder ${path} ${what}; ${next}`, { path })
