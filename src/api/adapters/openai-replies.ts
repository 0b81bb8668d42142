// Replies to one prompt. In: how many are asked for, their options, a function that starts one. Out: the
// chunks and the result of each, one reply after another.
import { renamedOption, wrongOption } from '../../base/options.ts'
import type { TextChunk } from '../../engine/wire/reply.ts'
import type { GenerateOptions, Generation, GenerationResult } from '../types.ts'

/** OpenAI's own limit. Replies are made one after another and kept until the last. */
const MOST_REPLIES = 128

export type ReplyPart =
  | { readonly type: 'start'; readonly index: number }
  | { readonly type: 'chunk'; readonly index: number; readonly chunk: TextChunk }
  | { readonly type: 'end'; readonly index: number; readonly result: GenerationResult }

/** The number of replies that `n` asks for. Throws `unsupported` if there are not as many. */
export function replyCount(n: unknown): number {
  const count = n ?? 1
  if (!(Number.isSafeInteger(count) && (count as number) >= 1 && (count as number) <= MOST_REPLIES))
    throw wrongOption('n', count, `a whole number from 1 to ${MOST_REPLIES}`)
  return count as number
}

/** Our names of options, and those of a request's fields. Other names are the same. */
export type FieldNames = Readonly<Record<string, string>>

/**
 * Leaving the loop cancels the reply that runs. Errors about options have the names of the request's fields.
 */
export async function* replies(
  { count, options, names }: { count: number; options: GenerateOptions; names: FieldNames },
  start: (options: GenerateOptions) => Generation,
): AsyncGenerator<ReplyPart, void> {
  for (let index = 0; index < count; index++) {
    yield { type: 'start', index }
    try {
      const generation = start({ ...options, ...seedOf(options.seed, index) })
      for await (const chunk of generation) yield { type: 'chunk', index, chunk }
      yield { type: 'end', index, result: await generation.result }
    } catch (error) {
      throw renamedOption(error, (name) =>
        name.replaceAll(/\w+/g, (word) => (Object.hasOwn(names, word) ? (names[word] as string) : word)),
      )
    }
  }
}

/** Replies to the same prompt must differ, and must be reproducible if the caller gave a seed. */
function seedOf(seed: unknown, index: number): { readonly seed?: number } {
  if (typeof seed !== 'number' || index === 0) return {}
  // After the largest seed comes 0. The first reply has found a seed that is not valid.
  return {
    seed: seed > Number.MAX_SAFE_INTEGER - index ? seed - Number.MAX_SAFE_INTEGER - 1 + index : seed + index,
  }
}
