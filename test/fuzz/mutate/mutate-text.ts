// Text mutations. In: a valid text in some language, and words of that language. Out: the text with pieces
// removed, duplicated, moved or replaced.
import type { Random } from '../../helpers/random.ts'

const MAX_CHARACTERS = 1 << 16

/** Makes one to six changes. `words`: the language's tokens; `donors`: other valid texts. */
export function mutateText(
  random: Random,
  good: string,
  words: readonly string[],
  donors: readonly string[] = [good],
): string {
  let text = good
  for (let left = random.few(); left > 0; left--) text = mutateOnce(random, text, words, donors)
  return text.slice(0, MAX_CHARACTERS)
}

function mutateOnce(
  random: Random,
  text: string,
  words: readonly string[],
  donors: readonly string[],
): string {
  const at = random.below(text.length + 1)
  const end = Math.min(text.length, at + 1 + random.below(random.pick([2, 8, 40])))
  const before = text.slice(0, at)
  const piece = text.slice(at, end)
  const after = text.slice(end)
  switch (random.below(8)) {
    case 0:
      return before + after
    case 1:
      return before + piece.repeat(2 + random.below(random.pick([2, 20]))) + after
    case 2:
    case 3:
      return before + random.pick(words) + piece + after
    case 4:
      return before + random.pick(words) + after
    case 5: {
      const donor = random.pick(donors)
      const from = random.below(donor.length + 1)
      return before + donor.slice(from, from + 1 + random.below(60)) + after
    }
    case 6: {
      const word = random.pick(words)
      return before + word.repeat(1 + random.below(random.pick([2, 4, 30]))) + piece + after
    }
    default:
      return (
        before + String.fromCharCode(random.below(random.chance(0.8) ? 128 : 65_536)) + text.slice(at + 1)
      )
  }
}
