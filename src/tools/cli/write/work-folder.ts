// The work folder of a long job. Each file is first written under another name, so none is ever half written.
// Only one process works in a folder.

import { createHash, type Hash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { PANEL_ROWS } from '../../../core/abi/encodings.ts'
import type { Weights } from '../../../core/arch/tensors/names.ts'
import { type ByteSource, filledSource } from '../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { parseJson } from '../../../core/base/json.ts'
import { isObject } from '../../../core/base/values.ts'
import { pathInside } from '../../../core/formats/names/named-files.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import { readWork, type WorkFiles } from '../../shrink/calibrate/work-files.ts'
import { packageVersion } from '../options.ts'
import { hasEnded, processStart } from '../processes.ts'
import { systemCode } from '../system-errors.ts'
import { systemError } from '../terminal/failure.ts'
import { PART, writeOutput } from '../terminal/output.ts'

const LOCK = /^lock-(\d{1,9})$/

interface Holder {
  readonly pid: number
  /**
   * When the process started, which distinguishes it from a later one with the same id; undefined if the
   * system does not report it.
   */
  readonly began?: string | undefined
  readonly machine: string
}

/** Whether a file of a work folder is a lock. */
const isLock = (name: string): boolean => LOCK.test(name)

interface Lock {
  /** Also happens when the process exits. */
  release(): void
  /** Call when the folder was removed, because another process may have created one of the same name. */
  forget(): void
}

/** Throws `unsupported` if another running process holds the lock. */
async function lockFolder(folder: string): Promise<Lock> {
  const own: Holder = { pid: process.pid, began: await processStart(process.pid), machine: hostname() }
  for (;;) {
    const last = await lastLock(folder)
    if (last > 0) await refuseIfHeld(folder, last)
    const path = join(folder, `lock-${last + 1}`)
    try {
      await writeFile(path, JSON.stringify(own), { flag: 'wx' })
    } catch (error) {
      if (systemCode(error) === 'EEXIST') continue
      throw systemError(error, 'unsupported', `${folder} cannot be written`, 'choose another place')
    }
    if ((await lastLock(folder)) > last + 1) {
      await rm(path, { force: true })
      continue
    }
    const release = () => {
      process.off('exit', release)
      rmSync(path, { force: true })
    }
    process.once('exit', release)
    return { release, forget: () => process.off('exit', release) }
  }
}

/** Returns 0 if there is none. */
async function lastLock(folder: string): Promise<number> {
  const names = await readdir(folder)
  return Math.max(0, ...names.map((name) => Number(LOCK.exec(name)?.[1] ?? 0)))
}

/**
 * An incomplete lock belongs to a killed process, or to one that will see our lock before it completes its
 * own.
 */
async function refuseIfHeld(folder: string, number: number): Promise<void> {
  const path = join(folder, `lock-${number}`)
  const holder = await readFile(path, 'utf8').then(holderOf, () => undefined)
  if (holder === undefined) return
  const { pid, machine } = holder
  const isHere = machine === hostname()
  if (isHere && !(await isRunning(holder))) return
  throw new HalfbyteError(
    'unsupported',
    isHere
      ? `process ${pid} is using the folder ${folder}; wait until it has ended, or end it, and give --resume`
      : `process ${pid} on ${machine} is using the folder ${folder}; wait until it has ended, or remove ${path} if it has`,
    { path: folder, pid, machine },
  )
}

function holderOf(text: string): Holder | undefined {
  try {
    const { pid, began, machine } = parseJson(text) as Record<string, unknown>
    if (!Number.isSafeInteger(pid) || (pid as number) < 1 || typeof machine !== 'string') return undefined
    return { pid: pid as number, machine, began: typeof began === 'string' ? began : undefined }
  } catch {
    return undefined
  }
}

async function isRunning({ pid, began }: Holder): Promise<boolean> {
  if (hasEnded(pid)) return false
  const now = await processStart(pid)
  return began === undefined || now === undefined ? pid !== process.pid : began === now
}

/** Keyed by readable names: a different job is rejected with the names of whatever differs. */
export interface JobKey {
  /** Work from another version is not resumed, because its methods may differ. */
  readonly version: string
  readonly [part: string]: string | object
}

const SLAB_BYTES = 8 << 20

export const jobKey = (parts: Readonly<Record<string, string | object>>): JobKey => ({
  version: packageVersion(),
  ...parts,
})

/**
 * SHA-256 of every weight as read, with or without adapters. Reads all of them once. Throws what
 * reading throws, or the signal's reason.
 */
export async function hashWeights(
  weights: Weights,
  signal: AbortSignal,
  onProgress?: (done: number, total: number) => void,
): Promise<string> {
  const hash = createHash('sha256')
  const total = [...weights.values()].reduce((sum, { byteLength }) => sum + byteLength, 0)
  let done = 0
  const count = (bytes: number) => {
    done += bytes
    onProgress?.(done, total)
  }
  for (const [name, tensor] of weights) {
    hash.update(JSON.stringify([name, formOf(tensor), tensor.sorted && formOf(tensor.sorted.tensor)]))
    await hashTensor(hash, tensor, signal, count)
    if (tensor.sorted === undefined) continue
    await hashTensor(hash, tensor.sorted.order, signal)
    await hashTensor(hash, tensor.sorted.tensor, signal)
  }
  return hash.digest('hex')
}

const formOf = ({ dtype, shape, byteLength, packed, change, like }: TensorInfo) => ({
  dtype,
  shape,
  byteLength,
  packed,
  change,
  like,
})

async function hashTensor(
  hash: Hash,
  { source, offset, byteLength, shape, packed }: TensorInfo,
  signal: AbortSignal,
  count?: (bytes: number) => void,
): Promise<void> {
  // Tensors computed on the fly are read whole, and panels under an adapter from their start.
  const unit = packed === undefined ? (PANEL_ROWS * byteLength) / (shape[0] ?? 1) : 1
  const slab = Math.max(1, Math.floor(SLAB_BYTES / unit)) * unit
  for (let at = 0; at < byteLength; at += slab) {
    const length = Math.min(slab, byteLength - at)
    hash.update(await source.read(offset + at, length, signal))
    count?.(length)
    signal.throwIfAborted()
  }
}

/** SHA-256 of a value as JSON. */
export const hashOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex')

const KEY = 'job.json'

/** A job's files, until `removeAll` deletes them. */
export interface Work extends WorkFiles {
  removeAll(): Promise<void>
}

/**
 * Opens the folder of a job. With `resume`, continues with the files of an earlier run. A folder without any
 * finished work counts as new. Throws `unsupported` if the folder holds something else, a job with another
 * key, an unfinished job without `resume`, or one on which another process is working.
 */
export async function openWork(path: string, key: JobKey, resume: boolean): Promise<Work> {
  const names = await namesIn(path)
  const isOwn = names.includes(KEY) || names.every((name) => isLock(name) || name === KEY + PART)
  if (!isOwn)
    throw refused(path, 'is not empty and contains no unfinished job', 'choose another output or remove it')
  await mkdir(path, { recursive: true }).catch((error) => {
    throw systemError(error, 'unsupported', `${path} cannot be created`, 'choose another place')
  })
  const lock = await lockFolder(path)
  try {
    const files = workFiles(path)
    const known = await readWork(files, KEY)
    if (known === undefined) await files.write(KEY, [new TextEncoder().encode(JSON.stringify(key))])
    else checkKey(path, new TextDecoder().decode(known), key, resume)
    const removeAll = async () => {
      // Renames the folder first: a half-removed folder must not look like a job to resume.
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
  if (!resume) throw refused(path, 'contains an unfinished job', 'add --resume to continue it, or remove it')
  const known = parsed(text)
  const parts = [...new Set([...Object.keys(key), ...Object.keys(known)])]
  const others = parts.filter((part) => JSON.stringify(known[part]) !== JSON.stringify(key[part]))
  if (others.length === 0) return
  throw refused(
    path,
    `contains a job that differs from this one in ${others.join(', ')}`,
    'repeat that job unchanged, or remove the folder to start again',
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
  // File names for matrices, derived from their names in the model's file.
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

/** Opens the file for each read: a job has many files and reads each one rarely. */
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

/** Empty if there is no such folder. Throws `unsupported` if it is not a folder. */
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
