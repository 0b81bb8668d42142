// Checks before any work that an output does not replace the input model, and replaces other files only with
// --force.
import { access, constants, mkdir, readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { Option } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { isUrl, pathsOf, placeOf } from '../files.ts'
import { systemError } from '../terminal/failure.ts'

export const forceOption = (): Option => new Option('--force', 'overwrite an existing output')

/** A command's input and its planned output. */
export interface Writing {
  /** `<model>` as typed. */
  readonly model: string
  readonly output: string
  readonly force?: boolean | undefined
}

/**
 * Throws `unsupported` if the output is a file of the model or its folder, if it cannot be written, and
 * without `force` if it already exists as a file, as parts of a pack, or as a folder with files. Devices and
 * pipes may be written.
 */
export async function checkOutput({ model, output, force = false }: Writing): Promise<void> {
  const place = await placeNamed(output)
  if ((await inputsOf(model)).includes(place)) {
    throw new HalfbyteError(
      'unsupported',
      `${output} is the input model, which writing would destroy; give another path`,
      { output },
    )
  }
  const found = force ? undefined : await inTheWay(output)
  if (found === undefined) return checkPlace(output)
  throw new HalfbyteError(
    'unsupported',
    `${found} already exists; give another path, or --force to replace it`,
    { output },
  )
}

/** Throws `unsupported` if the output's missing parent folders cannot be created. */
async function checkPlace(output: string): Promise<void> {
  let folder = dirname(resolve(output))
  let found = await stat(folder).catch(() => undefined)
  while (found === undefined && folder !== dirname(folder)) {
    folder = dirname(folder)
    found = await stat(folder).catch(() => undefined)
  }
  if (found?.isDirectory() !== true) {
    throw new HalfbyteError(
      'unsupported',
      `${output} cannot be written: ${folder} is not a folder; choose another place`,
      { output, folder },
    )
  }
  await access(folder, constants.W_OK).catch((error) => {
    throw systemError(error, 'unsupported', `${output} cannot be written`, 'choose another place')
  })
}

/** Creates the folder of an output that is ready to be written. */
export async function makeFolder(output: string): Promise<void> {
  await mkdir(dirname(resolve(output)), { recursive: true }).catch((error) => {
    throw systemError(error, 'unsupported', `${output} cannot be written`, 'choose another place')
  })
}

/** A command's output format and its file extension. Folders have none. */
const KINDS = {
  hbm: ['a .hbm pack', '.hbm'],
  gguf: ['a GGUF file', '.gguf'],
  gptq: ['a folder', undefined],
  safetensors: ['a folder', undefined],
} as const

/** Throws `unsupported` if the output's name has the extension of another format. */
export function checkName(output: string, kind: keyof typeof KINDS): void {
  const [ending] = /\.(?:hbm|gguf|safetensors|onnx)$/i.exec(output) ?? []
  const [what, own] = KINDS[kind]
  if (ending === undefined || ending.toLowerCase() === own) return
  const next =
    own === undefined
      ? `omit ${ending}`
      : `end it with ${own}${own === '.hbm' ? ' (halfbyte convert and quantize also write GGUF)' : ''}`
  throw new HalfbyteError(
    'unsupported',
    `${output} would be ${what} with the extension of another format; ${next}`,
    { output },
  )
}

const placeNamed = (path: string): Promise<string> => realpath(path).catch(() => resolve(path))

/** The files of a local model, or its folder; empty for a model at an address. */
async function inputsOf(model: string): Promise<readonly string[]> {
  const place = await placeOf(model)
  if (isUrl(place)) return []
  // Opening a missing model reports the error.
  const paths = await pathsOf(model).catch(() => [])
  return Promise.all([model, ...paths].map(placeNamed))
}

/** Returns undefined if nothing would be replaced. */
async function inTheWay(output: string): Promise<string | undefined> {
  const found = await stat(output).catch(() => undefined)
  if (found?.isFile()) return output
  if (found?.isDirectory()) return (await readdir(output)).length > 0 ? output : undefined
  const names = await readdir(dirname(resolve(output))).catch(() => [])
  const first = `${basename(output).replace(/\.hbm$/, '')}-00001-of-`
  const part = names.find((name) => name.startsWith(first) && name.endsWith('.hbm'))
  return part && join(dirname(output), part)
}
