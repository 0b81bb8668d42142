// Parts of a pack. In: the files of a split .hbm pack, in any order. Out: the pack as one source, without
// copies.
import { type ByteSource, heldIn, joinedSource } from '../../base/bytes.ts'
import { malformed } from '../malformed.ts'
import { baseName } from '../names/file-names.ts'
import { inOrder, SPLIT } from '../splits.ts'

/**
 * Joins the parts in order. Whether they belong together is checked later, by the pack's own size and hashes.
 * Throws `format` for parts that are missing, given twice or of unequal sizes, and for several packs.
 */
export function joinParts(files: readonly [ByteSource, ...ByteSource[]]): ByteSource {
  const [first, ...others] = files.map((source) => {
    const name = baseName(source.name)
    const [, number = 1, count = 1] = SPLIT.exec(name) ?? []
    return { source, name, number: Number(number) - 1, count: Number(count) }
  })
  if (others.length === 0 && first!.count === 1) return first!.source
  const parts = inOrder([first!, ...others])
  const whole = parts[0]!.source.size
  for (const { source, number, count } of parts) {
    if (number < count - 1 && source.size !== whole) {
      throw malformed(source.name, `it has ${source.size} bytes where the first part has ${whole}`)
    }
  }
  const ranges = parts.map(({ source }) => ({ source, offset: 0, bytes: source.size }))
  return {
    ...joinedSource(first!.name.replace(SPLIT, ''), ranges),
    async renew(offset, end) {
      for (const { source, from, to } of heldIn(ranges, offset, end)) await source.renew?.(from, to)
    },
    isChecked: parts.every(({ source }) => source.isChecked === true),
  }
}
