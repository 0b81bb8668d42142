// Checks before any work that an output does not replace the input model, and replaces other files only with
// --force.
import { access, constants, mkdir, readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { Option } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { pathsOf, placeOf } from '../files.ts'
import { isUrl } from '../hub-here.ts'
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
  while (!(await exists(folder)) && folder !== dirname(folder)) folder = dirname(folder)
  await checkFolder(output, folder)
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Throws `unsupported` unless files can be written to the folder. */
async function checkFolder(output: string, folder = dirname(resolve(output))): Promise<void> {
  const found = await stat(folder).catch(() => undefined)
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

/** Creates the folder of an output that is ready to be written: by default, the one that contains it. */
export async function makeFolder(output: string, folder = dirname(resolve(output))): Promise<void> {
  await mkdir(folder, { recursive: true }).catch((error) => {
    throw systemError(error, 'unsupported', `${output} cannot be written`, 'choose another place')
  })
}

/** A command's output formats and their file extensions, the preferred one first. Folders have none. */
const KINDS = {
  hbm: ['a .hbm pack', '.hbm'],
  gguf: ['a GGUF file', '.gguf'],
  gptq: ['a folder'],
  safetensors: ['a folder'],
  json: ['JSON', '.json'],
  samples: ['JSON lines', '.jsonl', '.json'],
  markdown: ['a Markdown table', '.md'],
  plot: ['an SVG plot', '.svg'],
  page: ['an HTML page', '.html', '.htm'],
  numbers: ['raw f32 numbers', '.bin', '.f32'],
} as const satisfies Readonly<Record<string, readonly [what: string, ...endings: string[]]>>

/** Extensions by which other programs recognize a format. */
const PROMISING =
  /\.(?:hbm|gguf|safetensors|onnx|jsonl?|csv|md|html?|svg|png|jpe?g|webp|pdf|np[yz]|pth?|zip)$/i

/** Throws `unsupported` if the output's name has the extension of another format. */
export function checkName(output: string, kind: keyof typeof KINDS): void {
  const [ending] = PROMISING.exec(output) ?? []
  const [what, ...own]: readonly string[] = KINDS[kind]
  if (ending === undefined || own.includes(ending.toLowerCase())) return
  const [usual] = own
  const next =
    usual === undefined
      ? `omit ${ending}`
      : `end it with ${usual}${kind === 'hbm' ? ' (halfbyte convert and quantize also write GGUF)' : ''}`
  throw new HalfbyteError(
    'unsupported',
    `${output} would be ${what} with the extension of another format; ${next}`,
    { output },
  )
}

/**
 * Throws `unsupported` before the work if a report, table or plot has the extension of another format or
 * can't be written at its place. A path that wasn't given is fine.
 */
export async function checkReport(path: string | undefined, kind: keyof typeof KINDS): Promise<void> {
  if (path === undefined) return
  checkName(path, kind)
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory()) {
    throw new HalfbyteError('unsupported', `${path} is a folder; give the name of a file`, { output: path })
  }
  // Devices and pipes are written in place.
  if (found === undefined || found.isFile()) await checkFolder(path)
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
