// Reads pieces of files and places them as weights, on any thread of a memory. In: a table of pieces and the
// files. Out: panels and copied bytes in linear memory, and the sum of what was read of each piece.
import { ABI, ROWS } from '../abi/constants.ts'
import { OPS } from '../abi/ops.ts'
import { CHUNK_BYTES, PIECE_BYTES } from '../store/device/sums.ts'
import type { EngineExports } from './module.ts'

/** The numbers of a piece, in the order in which a table has them. */
export interface Piece {
  /** Index of the file. */
  readonly file: number
  /** Position of the first byte in the file. */
  readonly offset: number
  /** Stored bytes: at most `CHUNK_BYTES`, and for rows at most `STAGE_BYTES`. */
  readonly length: number
  /** Where the bytes or the panels of the rows belong. */
  readonly target: number
  /** The type of rows (wasm/weights/repack.c); `COPIED` for bytes that stay as they are. */
  readonly type: number
  /** Elements per row. */
  readonly k: number
  readonly panels: number
  /** The code of the panels' encoding. */
  readonly encoding: number
}

export const COPIED = -1
/** Bytes that a core keeps in its cache between reading and moving. */
export const STAGE_BYTES = PIECE_BYTES
/** A record of `repack`, followed by its word for faults. */
export const RECORD_BYTES = ABI.OP_BYTES + 64

const FIELDS = ['file', 'offset', 'length', 'target', 'type', 'k', 'panels', 'encoding'] as const

/** Words that all threads share while they place pieces. They must last as long as the threads. */
export const CONTROL = { next: 0, entered: 1, left: 2, words: 3 } as const
/**
 * Words for each piece: its state, and the sums of its bytes in the chunk where it begins and in the next.
 */
export const RESULT = { state: 0, first: 1, second: 2, words: 3 } as const
/** The states of a piece. A piece that no thread has taken or finished is 0. */
export const STATE = { placed: 1, failed: 2 } as const

/** A message can carry this. */
export interface PlaceRequest {
  /** Made by `tableOf`. */
  readonly pieces: Float64Array
  readonly files: readonly PlacedFile[]
  /** Address of the words of `CONTROL`. */
  readonly control: number
  /** Address of the words of `RESULT`. */
  readonly results: number
  /** Address of `RECORD_BYTES`, then `STAGE_BYTES`, of this thread. */
  readonly stage: number
}

interface PlacedFile {
  /** `SharedFile.entry`. */
  readonly entry: unknown
  /** Whether the sums of its bytes are wanted. */
  readonly isSummed: boolean
}

export interface PieceReader extends Pick<PlacedFile, 'isSummed'> {
  /** Throws if the file ends before. */
  read(target: Uint8Array, offset: number): void
}

export function tableOf(pieces: readonly Piece[]): Float64Array {
  const table = new Float64Array(pieces.length * FIELDS.length)
  for (const [index, piece] of pieces.entries())
    for (const [at, field] of FIELDS.entries()) table[index * FIELDS.length + at] = piece[field]
  return table
}

const pieceOf = (table: Float64Array, index: number): Piece =>
  Object.fromEntries(
    FIELDS.map((field, at) => [field, table[index * FIELDS.length + at]]),
  ) as unknown as Piece

/** What a thread needs of its engine. */
type Machine = Pick<EngineExports, 'run' | 'adler'>

/**
 * Takes the next piece and places it. Returns false if there is none left. A piece that cannot be read or
 * moved is marked as failed.
 */
export function placeNext(
  engine: Machine,
  { buffer }: WebAssembly.Memory,
  { pieces, control, results, stage }: Omit<PlaceRequest, 'files'>,
  readers: readonly PieceReader[],
): boolean {
  const words = new Int32Array(buffer)
  const index = Atomics.add(words, control / 4 + CONTROL.next, 1)
  if (index >= pieces.length / FIELDS.length) return false
  const piece = pieceOf(pieces, index)
  const result = results / 4 + index * RESULT.words
  try {
    const isCopied = piece.type === COPIED
    const address = isCopied ? piece.target : stage + RECORD_BYTES
    const [first, second] = readPiece(engine, buffer, piece, address, readers)
    words[result + RESULT.first] = first
    words[result + RESULT.second] = second
    const isPlaced = isCopied || movePiece(engine, buffer, piece, stage)
    Atomics.store(words, result + RESULT.state, isPlaced ? STATE.placed : STATE.failed)
  } catch {
    Atomics.store(words, result + RESULT.state, STATE.failed)
  }
  return true
}

/** The sums of the bytes before the end of the piece's first chunk, and after it. */
function readPiece(
  engine: Machine,
  buffer: ArrayBufferLike,
  { file, offset, length }: Piece,
  address: number,
  readers: readonly PieceReader[],
): [first: number, second: number] {
  const { read, isSummed } = readers[file] as PieceReader
  const border = CHUNK_BYTES - (offset % CHUNK_BYTES)
  const sums: [number, number] = [0, 0]
  for (let at = 0; at < length; ) {
    const next = Math.min(length, at + PIECE_BYTES, at < border ? border : length)
    read(new Uint8Array(buffer, address + at, next - at), offset + at)
    // While the bytes are in the cache.
    const chunk = at < border ? 0 : 1
    if (isSummed) sums[chunk] = engine.adler(sums[chunk], address + at, next - at)
    at = next
  }
  return sums
}

/** False for rows with a scale that the encoding cannot represent. */
function movePiece(engine: Machine, buffer: ArrayBufferLike, piece: Piece, record: number): boolean {
  const words = new Uint32Array(buffer)
  repackRecord(words, record, record + RECORD_BYTES, piece)
  // The op reads no step, and one thread needs no sync block.
  engine.run(0, record, record, 0, 1, 0, 1)
  return !hasFault(words, record)
}

type Rows = Pick<Piece, 'target' | 'k' | 'panels' | 'type' | 'encoding'>

/** Writes a record that moves the rows at `stage`. `words`: the memory. */
export function repackRecord(words: Uint32Array, record: number, stage: number, rows: Rows): void {
  const { target, k, panels, type, encoding } = rows
  const faults = record + ABI.OP_BYTES
  words.set([OPS.repack.code, ROWS.tokens, stage, target, k, panels, type, encoding, faults], record / 4)
  words[faults / 4] = 0
}

/** Whether the record found a scale that the encoding cannot represent. */
export const hasFault = (words: Uint32Array, record: number): boolean =>
  words[(record + ABI.OP_BYTES) / 4] !== 0

/** A compute worker's part: places pieces until none is left. */
export function placePieces(
  engine: Machine,
  memory: WebAssembly.Memory,
  request: Omit<PlaceRequest, 'files'>,
  readers: readonly PieceReader[],
): void {
  const words = new Int32Array(memory.buffer)
  const control = request.control / 4
  Atomics.add(words, control + CONTROL.entered, 1)
  try {
    while (placeNext(engine, memory, request, readers));
  } finally {
    Atomics.add(words, control + CONTROL.left, 1)
  }
}
