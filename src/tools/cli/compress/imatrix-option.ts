// `--imatrix`: an importance matrix of llama.cpp in place of a calibration text.
import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { blobSource } from '../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import {
  foreignFile,
  type Importance,
  type ImportanceFile,
  importanceOf,
  readImportance,
} from '../../shrink/calibrate/importance-file.ts'
import { systemError, visible } from '../terminal/failure.ts'
import { hashOf } from '../write/work-folder.ts'

export interface ImatrixFlags {
  readonly imatrix?: string
  readonly method: 'rtn' | 'gptq'
  readonly weights: string
}

export const imatrixOption = (): Option =>
  new Option(
    '--imatrix <file>',
    'an importance matrix of llama.cpp (.gguf or .dat): rounds by how much each input counts, without a text',
  )

/** An importance matrix implies rounding. Throws `unsupported` for options that need a text's Hessians. */
export function withImatrix<Flags extends ImatrixFlags>(flags: Flags, command: Command): Flags {
  if (flags.imatrix === undefined) return flags
  const isChosen = command.getOptionValueSource('method') === 'cli'
  const other = isChosen && flags.method !== 'rtn' ? `--method ${flags.method}` : undefined
  const wanted = other ?? (flags.weights === 'mixed' ? '--weights mixed' : undefined)
  if (wanted !== undefined) {
    throw new HalfbyteError(
      'unsupported',
      `${wanted} needs more of a text than an importance matrix has; leave --imatrix out, or leave ${wanted} out`,
    )
  }
  return { ...flags, method: 'rtn' }
}

interface Imatrix {
  readonly file: string
  readonly entries: ImportanceFile
  /** Of its values. */
  readonly hash: string
}

/** Throws `format` for a file that is not an importance matrix. */
export async function readImatrix(path: string): Promise<Imatrix> {
  // `openAsBlob` does not say why it fails.
  const found = await stat(path).catch((error: unknown) => {
    throw systemError(error, 'format', `the importance matrix ${path} cannot be read`, 'check the path')
  })
  if (found.isDirectory()) throw foreignFile(path)
  const entries = await readImportance(blobSource(path, await openAsBlob(path)))
  const values = [...entries].map(([name, lists]) => [name, lists.map((means) => means && Array.from(means))])
  return { file: path, entries, hash: hashOf(values) }
}

/** Tells which matrices the file does not know. Throws `unsupported` for a file of another model. */
export function importanceFor(prepared: PreparedModel, { file, entries }: Imatrix): Importance {
  const { importance, unknown } = importanceOf(entries, prepared, file)
  if (unknown.length > 0) {
    process.stderr.write(
      visible(
        `${file} does not know ${unknown.length} of ${importance.size + unknown.length} matrices, which are rounded as without it: ${unknown[0]}${unknown.length > 1 ? ' and others' : ''}\n`,
      ),
    )
  }
  return importance
}
