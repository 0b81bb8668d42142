// Training examples, one JSON object in each line, checked before anything else happens.
import { readMessages, readTools } from '../../adapters/openai-request.ts'
import { requestFields } from '../../adapters/request-fields.ts'
import { linesOf, type TextPieces } from '../../core/base/bytes.ts'
import { HalfbyteError, reasonOf } from '../../core/base/errors.ts'
import { parseJson } from '../../core/base/json.ts'
import { isObject } from '../../core/base/values.ts'
import { drawnOrder } from '../evaluate/tasks/order.ts'

type Messages = ReturnType<typeof readMessages>
type Tools = ReturnType<typeof readTools>

/** What a line teaches: the assistant's turns, what follows a prompt, or all of a text. */
type ExampleForm =
  | { readonly form: 'chat'; readonly messages: Messages; readonly tools: Tools }
  | { readonly form: 'completion'; readonly prompt: string; readonly completion: string }
  | { readonly form: 'text'; readonly text: string }

/** One example; `line` counts from 1. */
export type Example = ExampleForm & {
  readonly line: number
  /** The line's object, as calibration reads it. */
  readonly source: object
}

const FORMS =
  'give lines like {"messages": [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]}, {"prompt": "...", "completion": "..."} or {"text": "..."}'

/**
 * The examples of a file, in order; empty lines are skipped. `name`: the file's, for messages. Throws
 * `format` with the number of the first wrong line, and for a file with fewer than two examples.
 */
export async function readExamples(name: string, pieces: TextPieces): Promise<Example[]> {
  const examples: Example[] = []
  let line = 0
  for await (const text of linesOf(pieces)) {
    line++
    if (text.trim() === '') continue
    try {
      examples.push(exampleOf(parseJson(text), line))
    } catch (cause) {
      throw new HalfbyteError(
        'format',
        `${name}: line ${line}: ${reasonOf(cause)}; ${FORMS}`,
        { line },
        { cause },
      )
    }
  }
  if (examples.length >= 2) return examples
  throw new HalfbyteError(
    'format',
    `${name} has ${examples.length} examples, and training needs at least 2: one to learn from, one to hold out; ${FORMS}`,
    { examples: examples.length },
  )
}

function exampleOf(value: unknown, line: number): Example {
  if (!isObject(value)) throw wrong('it is not an object')
  const { messages, tools, prompt, completion, text } = value
  if (messages !== undefined) return { line, source: { messages, tools }, ...chat(value) }
  if (isText(prompt) && isText(completion)) {
    if (completion === '') throw wrong('its completion is empty')
    return { line, source: { text: prompt + completion }, form: 'completion', prompt, completion }
  }
  if (isText(text)) {
    if (text === '') throw wrong('its text is empty')
    return { line, source: { text }, form: 'text', text }
  }
  throw wrong('it has neither messages, nor a prompt and a completion, nor a text')
}

function chat(value: Record<string, unknown>): ExampleForm {
  const fields = requestFields(value)
  const messages = readMessages(fields['messages'])
  if (messages.some(({ images }) => images !== undefined))
    throw wrong('it has images, which training does not read')
  if (!messages.some(({ role }) => role === 'assistant'))
    throw wrong('it has no assistant message to learn from')
  if (messages.at(-1)?.role !== 'assistant') throw wrong('its last message is not the assistant’s')
  return { form: 'chat', messages, tools: readTools(fields['tools']) }
}

const isText = (value: unknown): value is string => typeof value === 'string'

const wrong = (sentence: string): HalfbyteError => new HalfbyteError('format', sentence)

/**
 * Splits the examples into those to learn from and those to compare on, both in their order. `share` of
 * them, at least one, is held out; the same seed draws the same ones.
 */
export function holdOut(
  examples: readonly Example[],
  { share, seed }: { readonly share: number; readonly seed: number },
): { readonly train: readonly Example[]; readonly held: readonly Example[] } {
  const count = Math.min(examples.length - 1, Math.max(1, Math.round(examples.length * share)))
  const drawn = new Set(drawnOrder(examples.length, seed).subarray(0, count))
  return {
    train: examples.filter((_, index) => !drawn.has(index)),
    held: examples.filter((_, index) => drawn.has(index)),
  }
}
