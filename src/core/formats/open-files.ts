// Recognises the format of a model's files, given in any order, and reads and checks its headers.
import type { ByteSource } from '../base/bytes.ts'
import { HalfbyteError } from '../base/errors.ts'
import { readPack } from './hbm/hbm.ts'
import { baseName, isTowerName } from './names/named-files.ts'
import type { LoadReaders, ModelFile, ModelFormat } from './readers.ts'
import { joinParts } from './splits.ts'
import type { MetaValue } from './tensors.ts'

const NEXT = 'give a .gguf, .safetensors (with config.json) or .hbm file'

/**
 * The error for a file that is not a supported model: `unsupported` if it is another program's model,
 * otherwise `format`.
 */
function foreignFile(name: string, size: number, head: Uint8Array): HalfbyteError {
  const text = new TextDecoder('latin1').decode(head)
  const start = text.trimStart().slice(0, 64).toLowerCase()
  const starts = (...bytes: number[]) => bytes.every((byte, index) => head[index] === byte)
  if (size === 0) return notModel(name, 'it is empty', 'download it again')
  if (start.startsWith('<!doctype') || start.startsWith('<html') || start.startsWith('<?xml')) {
    return notModel(name, 'it is a web page, not a model', "use the file's download link (resolve, not blob)")
  }
  if (start.startsWith('version https://git-lfs')) {
    return notModel(
      name,
      'it is a Git LFS pointer, not the model itself',
      'fetch it with git lfs pull or from the hub',
    )
  }
  if (start.startsWith('{') || start.startsWith('['))
    return notModel(name, 'it is JSON without a model', NEXT)
  if (starts(0x50, 0x4b, 3, 4))
    return otherModel(name, 'it is a zip archive, as PyTorch saves models (.bin, .pt)')
  if (starts(0x80, 2) || starts(0x80, 4))
    return otherModel(name, 'it is a Python pickle, as PyTorch saves models')
  if (text.slice(4, 8) === 'TFL3') return otherModel(name, 'it is a TensorFlow Lite model')
  if (text.slice(1, 4) === 'HDF') return otherModel(name, 'it is an HDF5 file, as Keras saves models')
  if (starts(8, 3) || (head[0] === 8 && head[2] === 0x12))
    return notModel(name, 'it may be an ONNX model', 'give it a name that ends in .onnx')
  if (['lmgg', 'fmgg', 'tjgg', 'algg'].includes(text.slice(0, 4))) {
    return otherModel(name, 'it is a GGML file, the predecessor of GGUF')
  }
  if (starts(0x1f, 0x8b)) return notModel(name, 'it is compressed with gzip', 'unpack it first')
  const hex = Array.from(head.subarray(0, 4), (byte) => byte.toString(16).padStart(2, '0')).join(' ')
  return notModel(name, `its format is unknown to Halfbyte (${size} bytes, starting with ${hex})`, NEXT)
}

function notModel(name: string, what: string, next: string): HalfbyteError {
  return new HalfbyteError('format', `${name}: ${what}; ${next}`, { file: name })
}

function otherModel(name: string, what: string): HalfbyteError {
  return new HalfbyteError('unsupported', `${name}: ${what}, which Halfbyte does not support; ${NEXT}`, {
    file: name,
  })
}

const HEAD_BYTES = 64

const isTower = ({ name }: ByteSource): boolean => isTowerName(name)

/**
 * Reads the headers of a model: one GGUF or all its splits, safetensors with config.json (and tokenizer.json,
 * tokenizer_config.json, generation_config.json, chat_template.jinja if they exist), or one .hbm pack or all
 * its parts. An extra GGUF with `mmproj` in its name is the vision tower. Throws `format` for files that
 * are damaged, missing or not a model, `unsupported` for unsupported formats, and any error from loading a
 * reader.
 */
export async function openFiles(
  sources: readonly ByteSource[],
  readers: LoadReaders,
  signal?: AbortSignal,
): Promise<ModelFile> {
  const { kinds, others } = await sort(sources, signal)
  const ggufs = kinds.get('gguf') ?? []
  const towers = ggufs.filter(isTower)
  const own = ggufs.filter((source) => !isTower(source))
  if (towers.length === 0 || (own.length === 0 && kinds.size === 1))
    return openKinds(sources, { kinds, others }, readers, signal)
  if (towers.length > 1) {
    const names = towers.map(({ name }) => baseName(name))
    throw new HalfbyteError(
      'format',
      `the files have ${names.length} vision towers; give one of them: ${names.join(', ')}`,
      { files: names },
    )
  }
  const models = new Map(kinds)
  if (own.length === 0) models.delete('gguf')
  else models.set('gguf', own)
  const file = await openKinds(sources, { kinds: models, others }, readers, signal)
  return { ...file, tower: await (await readers.loadGguf()).openGguf(towers, signal) }
}

async function openKinds(
  sources: readonly ByteSource[],
  { kinds, others }: Sorted,
  readers: LoadReaders,
  signal: AbortSignal | undefined,
): Promise<ModelFile> {
  const [format, second] = kinds.keys()
  if (format === undefined) throw await refuse(others, signal)
  if (second !== undefined) {
    throw new HalfbyteError(
      'format',
      `the files are models in two formats, ${format} and ${second}; give one of them`,
      {
        files: sources.map((source) => source.name),
      },
    )
  }
  const files = kinds.get(format) as readonly ByteSource[]
  return { ...(await openFormat()), loadFamilies: () => readers.loadFamilies() }

  async function openFormat(): Promise<ModelFile> {
    if (format === 'hbm') return openPack(files, signal)
    if (format === 'gguf') return (await readers.loadGguf()).openGguf(files, signal)
    return (await readers.loadSafetensors()).openSafetensors(files, others, signal)
  }
}

interface Sorted {
  readonly kinds: ReadonlyMap<ModelFormat, readonly ByteSource[]>
  /** Configuration files, and any others without weights. */
  readonly others: readonly ByteSource[]
}

async function sort(sources: readonly ByteSource[], signal?: AbortSignal): Promise<Sorted> {
  const kinds = new Map<ModelFormat, ByteSource[]>()
  const others: ByteSource[] = []
  for (const source of sources) {
    const format = formatOf(source, await head(source, signal))
    if (format === undefined) others.push(source)
    else kinds.set(format, [...(kinds.get(format) ?? []), source])
  }
  return { kinds, others }
}

async function head(source: ByteSource, signal?: AbortSignal): Promise<Uint8Array> {
  return source.read(0, Math.min(source.size, HEAD_BYTES), signal)
}

function formatOf(source: ByteSource, bytes: Uint8Array): ModelFormat | undefined {
  const magic = String.fromCharCode(...bytes.subarray(0, 4))
  // Only the first part of a pack begins with the magic number.
  if (magic === 'HBM1' || /-\d{5}-of-\d{5}\.hbm$/.test(baseName(source.name))) return 'hbm'
  if (magic === 'GGUF') return 'gguf'
  // A safetensors file has no magic number. It begins with the header's length, followed by a JSON object.
  const isJsonBehindLength =
    bytes.length > 8 && bytes[8] === 0x7b && bytes[7] === 0 && bytes[6] === 0 && bytes[5] === 0
  const isNamed = baseName(source.name).endsWith('.safetensors') && !/^\s*[<v]/.test(magic)
  return isJsonBehindLength || isNamed ? 'safetensors' : undefined
}

async function refuse(others: readonly ByteSource[], signal?: AbortSignal): Promise<HalfbyteError> {
  if (others.length === 0)
    return new HalfbyteError('format', 'no files were given; give the files of a model')
  const suspect = others.find((source) => !/\.(json|txt|jinja|md)$/.test(baseName(source.name))) ?? others[0]
  const source = suspect as ByteSource
  return foreignFile(source.name, source.size, await head(source, signal))
}

async function openPack(files: readonly ByteSource[], signal?: AbortSignal): Promise<ModelFile> {
  const { header, tensors } = await readPack(joinParts(files as [ByteSource]), signal)
  const metadata = new Map<string, MetaValue>([['config', header.config]])
  if (header.about !== undefined) metadata.set('about', header.about)
  return {
    format: 'hbm',
    name: header.name,
    tensors,
    metadata,
    tokenizer: header.tokenizer,
    generationConfig: header.generation,
  }
}
