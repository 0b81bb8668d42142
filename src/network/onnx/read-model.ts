// Reads an ONNX file with the files next to it. Weights stay in their files.
import type { ByteSource } from '../../core/base/bytes.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { malformed } from '../../core/formats/malformed.ts'
import { type InnerPath, pathInside } from '../../core/formats/names/named-files.ts'
import { Message } from '../../core/formats/protobuf.ts'
import { type Constant, type Graph, type Input, inOrder, type Node } from './ir/graph.ts'
import { OLDEST_OPSET, withoutOlderForms } from './older-forms.ts'
import { Counts, domainOf, type Opsets, readNode, readValue, unsupportedPart } from './proto/graph-proto.ts'
import { readTensorFields, type TensorFields, tensorFrom, tensorFromBytes } from './proto/tensor-proto.ts'

/**
 * Bytes that are read at once. Weights between two fields are skipped, so the first window after them is
 * small, and each that continues the last one is larger.
 */
const WINDOW = 2 ** 18
const FIRST_WINDOW = 2 ** 16
const GROWTH = 4
const MAX_VARINT = 10
/** Maximum bytes of a tag and a length or number. */
const MAX_HEAD = 2 * MAX_VARINT

/** A field whose contents have not been read. */
interface FieldRange {
  readonly field: number
  /** Where its tag begins in the source. */
  readonly start: number
  /** Where its contents begin. */
  readonly offset: number
  readonly length: number
}

class Scanner {
  readonly #source: ByteSource
  readonly #signal: AbortSignal | undefined
  #bytes: Uint8Array = new Uint8Array(0)
  #start = 0
  #window = FIRST_WINDOW

  constructor(source: ByteSource, signal?: AbortSignal) {
    this.#source = source
    this.#signal = signal
  }

  /** Every field of the message at [offset, end); a number's contents are its bytes. */
  async *fields(offset: number, end: number): AsyncGenerator<FieldRange> {
    for (let at = offset; at < end; ) {
      const length = Math.min(MAX_HEAD, end - at)
      // Awaiting each field separately would take longer than reading them.
      const range = this.#fieldAt(this.held(at, length) ?? (await this.read(at, length)), at, end)
      yield range
      at = range.offset + range.length
    }
  }

  /** Bytes of a range; the result is a view that later reads do not change. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    const held = this.held(offset, length)
    if (held !== undefined) return held
    if (length > WINDOW) return this.#source.read(offset, length, this.#signal)
    const end = this.#start + this.#bytes.byteLength
    const isNext = offset >= this.#start && offset <= end && end > 0
    this.#window = isNext ? Math.min(WINDOW, GROWTH * this.#window) : FIRST_WINDOW
    const size = Math.min(Math.max(length, this.#window), this.#source.size - offset)
    this.#bytes = await this.#source.read(offset, size, this.#signal)
    this.#start = offset
    return this.#bytes.subarray(0, length)
  }

  /** Undefined if the bytes are not in memory. */
  held(offset: number, length: number): Uint8Array | undefined {
    const from = offset - this.#start
    const isHeld = from >= 0 && from + length <= this.#bytes.byteLength
    return isHeld ? this.#bytes.subarray(from, from + length) : undefined
  }

  /** `head`: the first bytes of the field. */
  #fieldAt(head: Uint8Array, start: number, end: number): FieldRange {
    const tag = this.#varint(head, 0, start)
    const at = start + tag.next
    const field = Math.floor(tag.value / 8)
    const type = tag.value % 8
    if (field === 0) throw this.#wrong(`it has a field numbered 0 at byte ${at}`)
    let offset = at
    let length: number
    if (type === 0) length = this.#varint(head, tag.next, start).next - tag.next
    else if (type === 1) length = 8
    else if (type === 5) length = 4
    else if (type === 2) {
      const stated = this.#varint(head, tag.next, start)
      offset = start + stated.next
      length = stated.value
    } else throw this.#wrong(`byte ${at} begins a field of wire type ${type}, which does not exist`)
    if (length > end - offset)
      throw this.#wrong(
        `a field of ${length} bytes at byte ${offset} is longer than the message that contains it`,
      )
    return { field, start, offset, length }
  }

  /** An unsigned number; beyond 2^53 it is only approximate. */
  #varint(head: Uint8Array, from: number, start: number): { value: number; next: number } {
    const most = Math.min(head.length, from + MAX_VARINT)
    let value = 0
    for (let at = from; at < most; at++) {
      const byte = head[at]!
      value += (byte & 0x7f) * 2 ** (7 * (at - from))
      if (byte < 0x80) return { value, next: at + 1 }
    }
    throw this.#wrong(`the number at byte ${start + from} does not end`)
  }

  #wrong(what: string) {
    return malformed(this.#source.name, what)
  }
}

/** The file's path relative to the model. Throws `format` if it may lead out of the model's folder. */
const externalLocation = (file: string, name: string, entries: ReadonlyMap<string, string>): InnerPath =>
  pathInside(entries.get('location') ?? '', `${file}: tensor ${name}`)

/**
 * Throws `format` for a range outside the file or with the wrong size for the tensor; `unsupported` if the
 * file is missing.
 */
function externalRange(
  file: string,
  { name, byteLength }: TensorFields,
  entries: ReadonlyMap<string, string>,
  source: ByteSource | undefined,
): { source: ByteSource; offset: number } {
  const location = entries.get('location') ?? ''
  if (source === undefined) throw missing(file, name, location)
  const offset = count(file, name, 'offset', entries.get('offset') ?? '0')
  const length = count(file, name, 'length', entries.get('length') ?? `${byteLength}`)
  if (length !== byteLength)
    throw malformed(
      file,
      `tensor ${name} has ${length} bytes in ${location}, but its shape needs ${byteLength}`,
    )
  if (offset + length > source.size)
    throw malformed(
      file,
      `tensor ${name} ends at byte ${offset + length} of ${location}, which has ${source.size}`,
    )
  return { source, offset }
}

function count(file: string, name: string, what: string, text: string): number {
  const value = Number(text)
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(value)) return value
  throw malformed(
    file,
    `tensor ${name} has the ${what} ${JSON.stringify(text.slice(0, 40))}, which is not a valid count`,
  )
}

function missing(file: string, name: string, location: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `${file}: tensor ${name} is in ${location}, which is not among the files; pass the folder that contains both`,
    { file, tensor: name, location },
  )
}

function checkGraph(file: string, graph: Graph, outer: ReadonlySet<string> = new Set()): void {
  const wrong = (what: string) =>
    new HalfbyteError('format', `${file}: in graph ${graph.name}, ${what}; export the model again`, { file })
  const known = new Set(graph.constants.keys())
  const make = (name: string) => {
    if (known.has(name)) throw wrong(`the name ${name} is defined twice`)
    known.add(name)
  }
  for (const { name } of graph.inputs) make(name)
  for (const node of graph.nodes) {
    for (const name of node.inputs) {
      if (name !== '' && !known.has(name) && !outer.has(name))
        throw wrong(`node ${node.name} (${node.op}) reads ${name}, which no earlier node produces`)
    }
    for (const { kind, value } of node.attributes.values()) {
      if (kind === 'graph') checkGraph(file, value, new Set([...known, ...outer]))
    }
    for (const name of node.outputs) if (name !== '') make(name)
  }
  for (const name of graph.outputs) {
    if (!known.has(name) && !outer.has(name)) throw wrong(`no node produces its output ${name}`)
  }
}

export interface OnnxModel {
  readonly graph: Graph
  readonly opsets: Opsets
  /** The program that wrote the file, and its version. */
  readonly producer: string
  /** What the file says about itself (its metadata_props): class names, characters, authors. */
  readonly metadata: ReadonlyMap<string, string>
}

/** A file next to the model, or undefined. */
export type FindFile = (path: InnerPath) => Promise<ByteSource | undefined>

export interface ReadOptions {
  /** Finds external data by its path relative to the model. Default: none. */
  readonly find?: FindFile | undefined
  /** Maximum bytes of a constant that is held in memory. Default 65,536, and 4 MB for booleans. */
  readonly inlineBytes?: number | undefined
  /** Default: `OLDEST_OPSET`. Each operator declares which definitions it implements. */
  readonly oldestOpset?: number | undefined
  readonly signal?: AbortSignal | undefined
}

const INLINE_BYTES = 65_536
/** Booleans are masks, which proofs read: at most 2048 tokens by 2048 positions. */
const INLINE_TRUTHS = 2 ** 22
/** Maximum bytes of everything except weights. */
const MAX_STRUCTURE = 2 ** 28
/** Maximum bytes of a TensorProto whose elements are a list of numbers instead of raw bytes. */
const MAX_LIST = 2 ** 28
const MAX_FILES = 1024
/** Maximum bytes of a value of the metadata. The characters of a text reader take 100 KB. */
const MAX_METADATA = 2 ** 24

/**
 * Throws `format` for a file that contradicts itself, `unsupported` for opsets below 7, unknown data types,
 * sequences and functions.
 */
export async function readModel(source: ByteSource, options: ReadOptions = {}): Promise<OnnxModel> {
  return new ModelReader(source, options).read()
}

class ModelReader {
  readonly #source: ByteSource
  readonly #options: ReadOptions
  readonly #scanner: Scanner
  readonly #counts = new Counts()
  readonly #files = new Map<string, Promise<ByteSource | undefined>>()
  #structure = 0

  constructor(source: ByteSource, options: ReadOptions) {
    this.#source = source
    this.#options = options
    this.#scanner = new Scanner(source, options.signal)
  }

  async read(): Promise<OnnxModel> {
    const { name, size } = this.#source
    const opsets = new Map<string, number>()
    let graph: FieldRange | undefined
    let producer = ''
    const metadata = new Map<string, string>()
    for await (const range of this.#scanner.fields(0, size)) {
      if (range.field === 2 || range.field === 3) producer += `${producer && ' '}${await this.#text(range)}`
      else if (range.field === 7) {
        if (graph !== undefined) throw malformed(name, 'it has two graphs')
        graph = range
      } else if (range.field === 8) opsets.set(...readOpset(await this.#message(range)))
      else if (range.field === 14) metadata.set(...readEntry(await this.#message(range)))
      else if (range.field === 25) throw unsupportedPart(name, 'functions of its own')
    }
    if (graph === undefined) throw malformed(name, 'it has no graph')
    checkOpset(name, opsets.get(''), this.#options.oldestOpset ?? OLDEST_OPSET)
    const read = await this.#graph(graph, opsets)
    checkGraph(name, read)
    const untyped = read.inputs.find(({ type }) => type === undefined)
    if (untyped !== undefined) throw malformed(name, `its input ${untyped.name} has no type`)
    return { graph: read, opsets, producer, metadata }
  }

  async #graph({ offset, length }: FieldRange, opsets: Opsets): Promise<Graph> {
    let name = ''
    const nodes: Node[] = []
    const constants = new Map<string, Constant>()
    const inputs: Input[] = []
    const outputs: string[] = []
    for await (const range of this.#scanner.fields(offset, offset + length)) {
      if (range.field === 1) nodes.push(readNode(await this.#message(range), opsets, this.#counts))
      else if (range.field === 2) name = await this.#text(range)
      else if (range.field === 5) await this.#constant(range, constants)
      else if (range.field === 11) inputs.push(readValue(await this.#message(range)))
      else if (range.field === 12) outputs.push(readValue(await this.#message(range)).name)
      else if (range.field === 15) throw unsupportedPart(this.#source.name, 'a sparse constant')
    }
    // Up to IR version 3, every constant was also an input.
    return withoutOlderForms({
      name,
      nodes: inOrder(nodes),
      constants,
      inputs: inputs.filter((input) => !constants.has(input.name)),
      outputs,
    })
  }

  async #constant(range: FieldRange, constants: Map<string, Constant>): Promise<void> {
    const file = this.#source.name
    const raw = await this.#rawData(range)
    // Without its raw data, a tensor is only a few names and numbers.
    const header = raw === undefined ? await this.#bytes(range, MAX_LIST) : await this.#around(range, raw)
    const fields = readTensorFields(new Message(file, header))
    const { name, dtype, dims, byteLength, data } = fields
    if (constants.has(name)) throw malformed(file, `two constants have the name ${name}`)
    const usual = dtype === 'bool' ? INLINE_TRUTHS : INLINE_BYTES
    const inline = this.#options.inlineBytes ?? usual
    const due = (length: number) => {
      if (length !== byteLength)
        throw malformed(
          file,
          `tensor ${name} has ${length} bytes, but its shape [${dims}] needs ${byteLength}`,
        )
    }
    if (data.in === 'strings') constants.set(name, tensorFrom(file, fields))
    else if (data.in === 'external') {
      const location = externalLocation(file, name, data.entries)
      const place = externalRange(file, fields, data.entries, await this.#external(location))
      constants.set(name, await this.#held({ dtype, dims, ...place, byteLength }, name, inline))
    } else if (raw !== undefined) {
      due(raw.length)
      const place = { source: this.#source, offset: raw.offset }
      constants.set(name, await this.#held({ dtype, dims, ...place, byteLength }, name, inline))
    } else constants.set(name, tensorFrom(file, fields))
  }

  /** Each file is requested once. */
  #external(location: InnerPath): Promise<ByteSource | undefined> {
    const known = this.#files.get(location)
    if (known !== undefined) return known
    if (this.#files.size >= MAX_FILES)
      throw malformed(this.#source.name, `its weights are in more than ${MAX_FILES} files`)
    const asked = this.#options.find?.(location) ?? Promise.resolve(undefined)
    this.#files.set(location, asked)
    return asked
  }

  /** Small constants are read now, so that passes can use them. */
  async #held(
    stored: Extract<Constant, { source: unknown }>,
    name: string,
    inline: number,
  ): Promise<Constant> {
    if (stored.byteLength > inline) return stored
    const { source, offset, byteLength, dtype, dims } = stored
    // Small constants are scattered between weights, which are read later. Most are in the bytes that were
    // read for their names: each read of a Blob would take as long as hundreds of nodes.
    const read = source.readAlone ?? source.read
    const bytes =
      (source === this.#source ? this.#scanner.held(offset, byteLength) : undefined) ??
      (await read.call(source, offset, byteLength, this.#options.signal))
    return tensorFromBytes(source.name, name, dtype, dims, bytes)
  }

  /** The range of a TensorProto's raw_data. */
  async #rawData({ offset, length }: FieldRange): Promise<FieldRange | undefined> {
    let found: FieldRange | undefined
    for await (const range of this.#scanner.fields(offset, offset + length))
      if (range.field === 9) found = range
    return found
  }

  /** The message without the field `raw`: the bytes before and after it. */
  async #around({ offset, length }: FieldRange, raw: FieldRange): Promise<Uint8Array> {
    const kept = (await this.#bytes({ offset, length: raw.start - offset })).slice()
    const end = raw.offset + raw.length
    const after = await this.#bytes({ offset: end, length: offset + length - end })
    const joined = new Uint8Array(kept.byteLength + after.byteLength)
    joined.set(kept)
    joined.set(after, kept.byteLength)
    return joined
  }

  async #bytes(
    { offset, length }: Pick<FieldRange, 'offset' | 'length'>,
    most = MAX_STRUCTURE,
  ): Promise<Uint8Array> {
    this.#structure += length
    if (length > most || this.#structure > 2 * MAX_STRUCTURE)
      throw malformed(this.#source.name, `its structure takes more than ${most} bytes`)
    return this.#scanner.read(offset, length)
  }

  async #message(range: FieldRange): Promise<Message> {
    return new Message(this.#source.name, await this.#bytes(range))
  }

  async #text(range: FieldRange): Promise<string> {
    return new TextDecoder().decode((await this.#bytes(range)).subarray(0, 256))
  }
}

function readOpset(message: Message): [string, number] {
  let domain = ''
  let version = 0
  message.fields((field) => {
    if (field === 1) domain = domainOf(message.text())
    if (field === 2) version = message.int()
  })
  return [domain, version]
}

function readEntry(message: Message): [string, string] {
  let key = ''
  let value = ''
  message.fields((field) => {
    if (field === 1) key = message.text()
    if (field === 2) value = message.text(MAX_METADATA)
  })
  return [key, value]
}

function checkOpset(file: string, version: number | undefined, oldest: number): void {
  if (version === undefined || version >= oldest) return
  throw new HalfbyteError(
    'unsupported',
    `${file} uses ONNX opset ${version}, but Halfbyte supports ${oldest} and later; export it with a later opset`,
    { file, opset: version },
  )
}
