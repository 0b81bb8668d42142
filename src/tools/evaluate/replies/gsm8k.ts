// The task GSM8K: finds a reply's last number, with the filters of lm-evaluation-harness.
import { type DataStream, type Line, textField, wrong } from '../tasks/read.ts'
import { drawItems } from './draw-items.ts'
import {
  type Question,
  type ReplyItem,
  type ReplyTask,
  type ReplyTaskOptions,
  replyTask,
} from './reply-task.ts'

export interface Gsm8kOptions extends ReplyTaskOptions {
  /** Worked examples before each question, as earlier turns. Default 0. */
  readonly shots?: number | undefined
}

const MAX_TOKENS = 256
/** Without examples, only this tells the model which format `strict-match` expects. */
const FORM =
  'Solve it step by step. Then write the answer as a number on a separate last line that begins with "#### ".'

/**
 * `exact_match` by two filters: `strict-match` reads the number after "####", `flexible-extract` the last
 * number of the reply. Examples are the first lines of `examples`; without that file, the last lines of the
 * data, which are then not used as items.
 */
export async function gsm8k(
  file: DataStream,
  examples: DataStream | undefined,
  { shots = 0, ...options }: Gsm8kOptions,
): Promise<ReplyTask> {
  const spared = examples === undefined ? shots : 0
  const { items: asked, count, last } = await drawItems(file, readLine, { ...options, spared })
  const first = examples && (await drawItems(examples, readLine, { limit: shots }))
  const worked = first?.items ?? last
  if (worked.length < shots || count === 0) {
    const number = worked.length < shots ? (first?.count ?? last.length) : count + last.length
    const place = { file: (worked.length < shots && examples ? examples : file).name, number }
    throw wrong(place, `is the last line, too few for ${shots} examples; give fewer --shots`)
  }
  const before = worked.flatMap(({ question, answer }) => [
    { role: 'user', content: asQuestion(question) } as const,
    { role: 'assistant', content: answer } as const,
  ])
  const items = asked.map(({ number, question, answer }): ReplyItem => {
    const content = asQuestion(shots === 0 ? `${question}\n${FORM}` : question)
    const messages: Question['messages'] = [...before, { role: 'user', content }]
    return {
      id: `line ${number}`,
      question: { messages, stop: ['Question:'], maxTokens: MAX_TOKENS },
      mark: ({ text }) => ({
        'exact_match, strict-match': [isSame(strictNumber(text), answer)],
        'exact_match, flexible-extract': [isSame(lastNumber(text), answer)],
      }),
    }
  })
  return replyTask('gsm8k', { items, count }, options)
}

function readLine(line: Line) {
  const question = textField(line, 'question')
  const answer = textField(line, 'answer')
  if (!answer.includes('#### ')) throw wrong(line, 'has an answer without "#### "')
  return { number: line.number, question, answer }
}

const asQuestion = (text: string): string => `Question: ${text}\nAnswer:`

const NONE = '[invalid]'

const strictNumber = (text: string): string => /#### (-?[0-9.,]+)/.exec(text)?.[1] ?? NONE

const lastNumber = (text: string): string =>
  [...text.matchAll(/-?[$0-9.,]{2,}|-?[0-9]+/g)].at(-1)?.[0].trim() ?? NONE

const isSame = (found: string, answer: string): boolean => plain(found) === plain(answer)

/** Removes thousands separators, dollar signs, the solution before the answer, and a final full stop. */
const plain = (text: string): string =>
  text
    .replaceAll(/[,$]/g, '')
    .replace(/[\s\S]*#### /, '')
    .replace(/\.\n?$/, '')
    .toLowerCase()
