// The allocator of linear memory: hands out aligned regions, and views that survive its growth.
import { roundUp } from '../../abi/encodings.ts'
import { MAX_BYTES, PAGE_BYTES, refused } from './linear-memory.ts'

declare const brand: unique symbol
/** A byte address in linear memory, up to 4 GiB. `|` and `>>` would make it negative. */
export type Ptr = number & { readonly [brand]: 'Ptr' }

/** A cache line, which is more than any kernel's vectors need. */
export const ALIGNMENT = 64
/** Growing in steps of this size causes fewer copies in engines that copy a memory to grow it. */
const GROWTH_BYTES = 4 * 1024 * 1024

/** `pointer` moved by `bytes`. */
export const offset = (pointer: Ptr, bytes: number): Ptr => (pointer + bytes) as Ptr

/**
 * Allocates a memory from `heapBase` upward. Regions are not freed individually: `reset` drops all of the
 * newest ones.
 */
export class Arena {
  readonly memory: WebAssembly.Memory
  #top: number
  #u8: Uint8Array<ArrayBufferLike>
  #u32: Uint32Array<ArrayBufferLike>
  #f32: Float32Array<ArrayBufferLike>

  constructor(memory: WebAssembly.Memory, heapBase: number) {
    this.memory = memory
    this.#top = roundUp(heapBase >>> 0, ALIGNMENT)
    this.#u8 = new Uint8Array(memory.buffer)
    this.#u32 = new Uint32Array(memory.buffer)
    this.#f32 = new Float32Array(memory.buffer)
  }

  /** Current size of the memory in bytes; it never shrinks. */
  get memoryBytes(): number {
    return this.memory.buffer.byteLength
  }

  /** The whole memory. Growth invalidates views: read this again after each `allocate` and each await. */
  get u8(): Uint8Array<ArrayBufferLike> {
    if (this.#u8.buffer !== this.memory.buffer) this.#u8 = new Uint8Array(this.memory.buffer)
    return this.#u8
  }

  /** The whole memory as words: index = address / 4. */
  get u32(): Uint32Array<ArrayBufferLike> {
    if (this.#u32.buffer !== this.memory.buffer) this.#u32 = new Uint32Array(this.memory.buffer)
    return this.#u32
  }

  /** The whole memory as floats: index = address / 4. */
  get f32(): Float32Array<ArrayBufferLike> {
    if (this.#f32.buffer !== this.memory.buffer) this.#f32 = new Float32Array(this.memory.buffer)
    return this.#f32
  }

  /**
   * Allocates `bytes`, aligned to 64. The region is zero if its memory was never used before. Throws
   * `out-of-memory`, naming `purpose` and both numbers, and then changes nothing.
   */
  allocate(bytes: number, purpose: string): Ptr {
    const start = this.#top
    const end = roundUp(start + bytes, ALIGNMENT)
    if (end > this.memoryBytes) this.#grow(end, purpose)
    this.#top = end
    return start as Ptr
  }

  /** The start of the next region. `reset` to this mark drops all later regions. */
  mark(): Ptr {
    return this.#top as Ptr
  }

  reset(mark: Ptr): void {
    this.#top = Math.min(this.#top, mark)
  }

  #grow(endBytes: number, purpose: string): void {
    const current = this.memoryBytes
    if (endBytes > MAX_BYTES) throw refused(endBytes, MAX_BYTES, purpose)
    const generous = Math.min(roundUp(endBytes, GROWTH_BYTES), MAX_BYTES)
    if (this.#tryGrow(generous - current) || this.#tryGrow(roundUp(endBytes, PAGE_BYTES) - current)) return
    throw refused(endBytes, current, purpose)
  }

  #tryGrow(bytes: number): boolean {
    try {
      this.memory.grow(bytes / PAGE_BYTES)
      return true
    } catch (error) {
      if (error instanceof RangeError) return false
      throw error
    }
  }
}
