// Tasks whose items are whole replies. Each item stores the reply with its scores, so that every score can be
// checked.
import { mean, type Task } from '../task.ts'

interface QuestionMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

interface QuestionTool {
  readonly name: string
  readonly description: string
  /** JSON Schema of an object. */
  readonly parameters: object
}

export interface Question {
  readonly messages: readonly QuestionMessage[]
  readonly tools?: readonly QuestionTool[]
  /** Texts that end the reply. */
  readonly stop?: readonly string[]
  readonly maxTokens: number
}

export interface RepliedCall {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
}

export interface Reply {
  /** The text without the calls. */
  readonly text: string
  readonly toolCalls: readonly RepliedCall[]
  /** `length`: it was cut off at `maxTokens`. */
  readonly finishReason: string
  readonly promptTokens: number
  /** Ids as generated, without the end-of-turn token. */
  readonly tokens: readonly number[]
}

/** A model that answers with its own chat template, and always picks the most likely token. */
export interface ReplyModel {
  /** Throws errors of the engine, or the signal's reason. */
  answer(question: Question, signal: AbortSignal): Promise<Reply>
}

/**
 * Whether a reply passed, by metric. A metric has several values if several properties of a reply are
 * checked, and none if nothing is checked.
 */
export type Marks = Readonly<Record<string, readonly boolean[]>>

export interface MarkedReply extends Reply {
  /** The item's name in its data set. */
  readonly id: string
  readonly marks: Marks
  /** Number of parts of the item that were not checked. */
  readonly leftOut: number
}

export interface ReplyItem {
  readonly id: string
  readonly question: Question
  readonly mark: (reply: Reply) => Marks
  /** Default 0. */
  readonly leftOut?: number
}

export interface ReplyTask extends Task<ReplyModel, MarkedReply> {
  /** The selected items, in order: `limit` of `count`. */
  readonly items: readonly ReplyItem[]
}

export interface ReplyTaskOptions {
  /** Shuffles the items with this seed. Default: the file's order. */
  readonly seed?: number | undefined
  /** Maximum items; only these are kept in memory. Default: all. */
  readonly limit?: number | undefined
  /** Maximum tokens per reply. Default: the task's own. */
  readonly maxTokens?: number | undefined
}

/**
 * Results are stored often, because a reply takes seconds on a small machine and an interrupted run loses all
 * replies since the last save.
 */
const KEPT_REPLIES = 16

/** `count`: number of items in the data set. `what`: a noun for the parts that `leftOut` counts. */
export function replyTask(
  name: string,
  { items: given, count }: { readonly items: readonly ReplyItem[]; readonly count: number },
  { maxTokens }: ReplyTaskOptions,
  what = 'parts',
): ReplyTask {
  const items = given.map((item) => ({
    ...item,
    question: { ...item.question, maxTokens: maxTokens ?? item.question.maxTokens },
  }))
  return {
    name,
    count,
    unit: 'replies',
    keptItems: KEPT_REPLIES,
    items,
    async score(model, index, signal) {
      const item = items[index]!
      return marked(item, await model.answer(item.question, signal))
    },
    metrics(results) {
      const names = Object.keys(results[0]?.marks ?? {})
      const shares = names.map((each) => [
        each,
        mean(results.flatMap(({ marks }) => marks[each]!.map(Number))),
      ])
      return Object.fromEntries(shares)
    },
    notes(results) {
      const cut = results.filter(({ finishReason }) => finishReason === 'length').length
      const leftOut = results.reduce((sum, each) => sum + each.leftOut, 0)
      const most = items[0]?.question.maxTokens
      return [
        ...(cut > 0 ? [`${cut} of ${results.length} replies were cut off at ${most} tokens`] : []),
        ...(leftOut > 0 ? [`${leftOut} ${what} were skipped`] : []),
      ]
    },
  }
}

export const marked = (item: ReplyItem, reply: Reply): MarkedReply => ({
  id: item.id,
  ...reply,
  marks: item.mark(reply),
  leftOut: item.leftOut ?? 0,
})
