// Parts of a pack. In: the files that a .hbm pack was cut into, in any order. Out: the pack as one source, nothing copied.
import { type ByteSource, filledSource, readInto } from '../base/bytes.ts'
import { baseName } from './file-names.ts'
import { malformed } from './malformed.ts'
import { inOrder, SPLIT } from './splits.ts'

/**
 * Its bytes are those of the parts, one after the other. Whether they belong together, the pack's own size and hashes tell.
 * Throws `format` for parts that are missing, doubled or of unequal sizes, and for several packs.
 */
export function joinParts(files: readonly [ByteSource, ...ByteSource[]]): ByteSource {
  const [first, ...others] = files.map((source) => {
    const name = baseName(source.name)
    const [, number = 1, count = 1] = SPLIT.exec(name) ?? []
    return { source, name, number: Number(number) - 1, count: Number(count) }
  })
  if (others.length === 0 && first!.count === 1) return first!.source
  const parts: { readonly source: ByteSource; readonly start: number }[] = []
  let size = 0
  for (const { source, number, count } of inOrder([first!, ...others])) {
    const whole = parts[0]?.source.size ?? source.size
    if (number < count - 1 && source.size !== whole) {
      throw malformed(source.name, `it has ${source.size} bytes where the first part has ${whole}`)
    }
    parts.push({ source, start: size })
    size += source.size
  }
  const name = first!.name.replace(SPLIT, '')

  /** Bytes [from, to) of each part that holds some of [offset, end). */
  const held = (offset: number, end: number) =>
    parts
      .map(({ source, start }) => {
        const [from, to] = [Math.max(0, offset - start), Math.min(source.size, end - start)]
        return { source, start, from, to }
      })
      .filter(({ from, to }) => from < to)

  return {
    ...filledSource(name, size, async (target, offset, signal) => {
      for (const { source, start, from, to } of held(offset, offset + target.byteLength)) {
        await readInto(source, target.subarray(start + from - offset, start + to - offset), from, signal)
      }
    }),
    async renew(offset, end) {
      for (const { source, from, to } of held(offset, end)) await source.renew?.(from, to)
    },
    isChecked: parts.every(({ source }) => source.isChecked === true),
  }
}
