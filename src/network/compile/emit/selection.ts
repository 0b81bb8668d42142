// The code of a selection: finds the positions of a row's largest numbers, in order, with a heap of that
// size.
import type { FunctionBody, Local } from '../wasm/assembler.ts'
import { addressOf, emitAddresses } from './addresses.ts'
import { type Kernel, RECORD, type SelectionForm, STREAM_WORDS, selectedWord, streamWord } from './kernel.ts'

/**
 * A heap entry is one i64 in selection order: the upper half is the number's rank, the lower half the
 * complement of its position, so that among equal numbers the first ranks higher.
 */
const ENTRY = 8
const X = 0
const OUT = 1
const HEAP = 2
const SIGN = -(2 ** 31)
const GREATEST = 2 ** 31 - 1
const INFINITE = 0x7f80_0000

interface Heap {
  /** Address of the smallest entry. */
  readonly root: Local
  readonly bytes: Local
  /** The entry to insert. */
  readonly entry: Local
}

/** Streams of the kernel: the rows, the positions to write, and the heap in scratch memory. */
export function emitSelection(code: FunctionBody, kernel: Kernel, form: SelectionForm): void {
  const record = code.parameter(0)
  const row = code.parameter(1)
  const last = code.parameter(2)
  const x = code.local('i32')
  const out = code.local('i32')
  const root = code.local('i32')
  const heap: Heap = { root, bytes: code.local('i32'), entry: code.local('i64') }
  const addresses = [addressOf(kernel, X, x), addressOf(kernel, OUT, out), addressOf(kernel, HEAP, root)]
  code.whileLess(row, last, () => {
    emitAddresses(code, kernel, record, row, addresses)
    code
      .get(record)
      .load32(4 * selectedWord(kernel))
      .number(3)
      .plain('i32.shl')
      .set(heap.bytes)
    clear(code, heap)
    chooseFrom(code, kernel, form, { record, x, heap })
    writePlaces(code, out, heap)
    code.increase(row, 1)
  })
}

/** Makes every entry smaller than the entry of any number. */
function clear(code: FunctionBody, { root, bytes }: Heap): void {
  const at = code.local('i32')
  code.number(0).set(at)
  code.whileLess(at, bytes, () => {
    code.get(root).get(at).plain('i32.add')
    code.number(SIGN).plain('i64.extend_i32_s')
    shift32(code).store64()
    code.increase(at, ENTRY)
  })
}

const shift32 = (code: FunctionBody): FunctionBody =>
  code.number(32).plain('i64.extend_i32_u').plain('i64.shl')

/** Each number in the row that exceeds the smallest in the heap replaces it. */
function chooseFrom(
  code: FunctionBody,
  kernel: Kernel,
  form: SelectionForm,
  { record, x, heap }: { readonly record: Local; readonly x: Local; readonly heap: Heap },
): void {
  const place = code.local('i32')
  const count = code.local('i32')
  const step = code.local('i32')
  code
    .get(record)
    .load32(4 * RECORD.inner)
    .set(count)
  code
    .get(record)
    .load32(4 * (streamWord(kernel, X) + STREAM_WORDS.inner))
    .set(step)
  code.number(0).set(place)
  code.whileLess(place, count, () => {
    rank(code, x, form)
    shift32(code.plain('i64.extend_i32_s'))
    code.get(place).number(-1).plain('i32.xor').plain('i64.extend_i32_u').plain('i64.or').set(heap.entry)
    code.get(heap.root).load64().get(heap.entry).plain('i64.lt_s')
    code.when(() => siftDown(code, heap))
    code.get(x).get(step).plain('i32.add').set(x)
    code.increase(place, 1)
  })
}

/** Leaves an i32 that ranks the number at the address in selection order. */
function rank(code: FunctionBody, address: Local, { isLeast, kind }: SelectionForm): void {
  const bits = code.local('i32')
  code.get(address).load32()
  if (kind === 'f32') {
    code.set(bits)
    // Normalises the sign so that -0 ranks as 0, and all NaNs rank the same.
    code.number(0).get(bits).get(bits).number(SIGN).plain('i32.eq').plain('select').set(bits)
    code.number(GREATEST)
    code.get(bits).get(bits).number(31).plain('i32.shr_s').number(GREATEST).plain('i32.and').plain('i32.xor')
    code.get(bits).number(GREATEST).plain('i32.and').number(INFINITE).plain('i32.gt_s').plain('select')
  }
  if (isLeast) code.number(-1).plain('i32.xor')
}

/** Puts the entry at the root and moves smaller ones up until the root is the smallest again. */
function siftDown(code: FunctionBody, { root, bytes, entry }: Heap): void {
  const at = code.local('i32')
  const child = code.local('i32')
  const goes = code.local('i32')
  const place = (local: Local) => code.get(root).get(local).plain('i32.add')
  code.number(0).set(at)
  code.loop(() => {
    code.get(at).number(1).plain('i32.shl').number(ENTRY).plain('i32.add').set(child)
    code.number(0).set(goes)
    code.get(child).get(bytes).plain('i32.lt_s')
    code.when(() => {
      code.get(child).number(ENTRY).plain('i32.add').get(bytes).plain('i32.lt_s')
      code.when(() => {
        place(child).load64(ENTRY)
        place(child).load64().plain('i64.lt_s')
        code.when(() => code.increase(child, ENTRY))
      })
      place(child).load64().get(entry).plain('i64.lt_s')
      code.when(() => {
        place(at)
        place(child).load64().store64()
        code.get(child).set(at).number(1).set(goes)
      })
    })
    code.get(goes)
  })
  place(at).get(entry).store64()
}

/** Pops the heap: the smallest entry gives the row's last position, and so on. */
function writePlaces(code: FunctionBody, out: Local, heap: Heap): void {
  const { root, bytes, entry } = heap
  const none = code.local('i32')
  code.number(0).set(none)
  code.whileLess(none, bytes, () => {
    code.increase(bytes, -ENTRY)
    // An entry takes twice as many bytes as a position.
    code.get(out).get(bytes).number(1).plain('i32.shr_s').plain('i32.add')
    code.get(root).load64().plain('i32.wrap_i64').number(-1).plain('i32.xor').store32()
    code.get(root).get(bytes).plain('i32.add').load64().set(entry)
    siftDown(code, heap)
  })
}
