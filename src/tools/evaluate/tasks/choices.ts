// Multiple-choice tasks from data sets in their published forms, scored as in lm-evaluation-harness.
import { shown } from '../../../core/base/check-options.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { type EncodedPair, encodePair, scorePairs } from '../../../engine/score/score.ts'
import { argmax, mean, type Task } from '../task.ts'
import { drawn } from './order.ts'
import { type DataFile, goldOf, isTexts, type Line, readLines, textField, textsField, wrong } from './read.ts'

/** Either one context with several continuations, or several contexts with one continuation. */
interface ChoiceItem {
  readonly pairs: readonly (readonly [context: string, continuation: string])[]
  /** Characters of each choice, the divisors of `acc_norm`. */
  readonly lengths: readonly number[]
  readonly gold: number
  /** Where it begins in its file, from 1. */
  readonly line: number
}

type ReadItem = Omit<ChoiceItem, 'line'>

export interface ChoiceTask extends Task {
  /** In scoring order. */
  readonly items: readonly ChoiceItem[]
}

/** The harness's separator between context and continuation. */
const SEPARATOR = ' '

/**
 * `acc`: the share of items whose most likely choice is the right one. `acc_norm`: the same with each
 * log-likelihood divided by the choice's length in characters. On ties, the first choice wins. `seed`
 * shuffles the items; default: file order.
 */
function choiceTask(name: string, all: readonly ChoiceItem[], seed?: number): ChoiceTask {
  const items = drawn(all, seed)
  // The choices of WinoGrande are contexts, whose lengths say nothing about the continuation.
  const isNormed = items.every(({ pairs }) => pairs.every(([context]) => context === pairs[0]?.[0]))
  return {
    name,
    items,
    count: items.length,
    unit: 'questions',
    lineOf: (index) => items[index]!.line,
    chance: mean(items.map(({ pairs }) => 1 / pairs.length)).value,
    async score(model, index, signal) {
      const groups = new Map<string, { context: EncodedPair['context']; at: number[]; ids: number[][] }>()
      for (const [at, [context, continuation]] of items[index]!.pairs.entries()) {
        const pair = encodePair(model, context, continuation)
        const key = pair.context.join()
        const group = groups.get(key) ?? { context: pair.context, at: [], ids: [] }
        groups.set(key, group)
        group.at.push(at)
        group.ids.push([...pair.continuation])
      }
      const result: number[] = []
      for (const { context, at, ids } of groups.values()) {
        const scores = await scorePairs(model, context, ids, signal)
        for (const [each, { logProbability }] of scores.entries()) result[at[each]!] = logProbability
      }
      return result
    },
    metrics(results) {
      const right = (norm: (index: number, choice: number) => number) =>
        mean(
          results.map((found, index) =>
            argmax(found.map((value, choice) => value / norm(index, choice))) === items[index]!.gold ? 1 : 0,
          ),
        )
      const normed = right((index, choice) => items[index]!.lengths[choice]!)
      return { acc: right(() => 1), ...(isNormed && { acc_norm: normed }) }
    },
  }
}

function item(context: string, choices: readonly string[], gold: number): ReadItem {
  return {
    pairs: choices.map((choice) => [context, SEPARATOR + choice]),
    lengths: choices.map(characters),
    gold,
  }
}

/** An item for each line. */
const itemsOf = (lines: readonly Line[], read: (line: Line, index: number) => ReadItem): ChoiceItem[] =>
  lines.map((line, index) => ({ ...read(line, index), line: line.number }))

/** Python's length of a text: code points. */
const characters = (text: string): number => [...text].length

/** `{"query", "choices", "gold"}`, or `{"context_options", "continuation", "gold"}`. */
function readOwn(line: Line, ending = ''): ReadItem {
  if ('context_options' in line.value) {
    const contexts = textsField(line, 'context_options')
    const continuation = SEPARATOR + textField(line, 'continuation').trim()
    return {
      pairs: contexts.map((context) => [context, continuation]),
      lengths: contexts.map(characters),
      gold: goldOf(line, line.value['gold'], contexts.length),
    }
  }
  const choices = textsField(line, 'choices')
  return item(textField(line, 'query') + ending, choices, goldOf(line, line.value['gold'], choices.length))
}

const isOwn = ({ value }: Line): boolean => 'query' in value || 'context_options' in value

/** For users' own files, the context is `query`, unchanged. */
export const ownChoices = (file: DataFile, seed?: number): ChoiceTask =>
  choiceTask(
    'choices',
    itemsOf(readLines(file), (line) => readOwn(line)),
    seed,
  )

/** JSON lines as published, or six lines per item: context, label, four endings. */
export function hellaswag(file: DataFile, seed?: number): ChoiceTask {
  if (file.text.trimStart().startsWith('{'))
    return choiceTask('hellaswag', itemsOf(readLines(file), readHellaswag), seed)
  const lines = file.text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const items: ChoiceItem[] = []
  for (let at = 0; at < lines.length; at += 6) {
    const [context = '', label, ...endings] = lines.slice(at, at + 6)
    const line = { file: file.name, number: at + 1, value: {} }
    if (endings.length < 4) throw wrong(line, 'starts an item with fewer than six lines')
    items.push({ ...item(context, endings, goldOf(line, label, 4)), line: line.number })
  }
  return choiceTask('hellaswag', items, seed)
}

function readHellaswag(line: Line): ReadItem {
  if (isOwn(line)) return readOwn(line)
  const endings = textsField(line, 'endings').map(cleaned)
  const first = textField(line, 'ctx_a')
  const second = capitalized(textField(line, 'ctx_b'))
  const query = cleaned(`${textField(line, 'activity_label')}: ${first} ${second}`)
  return item(query, endings, goldOf(line, line.value['label'], endings.length))
}

/** Python's `capitalize`: upper-cases the first character and lower-cases the rest. */
function capitalized(text: string): string {
  const [first = '', ...rest] = text
  return first.toUpperCase() + rest.join('').toLowerCase()
}

/** Removes WikiHow's markup. */
const cleaned = (text: string): string =>
  text
    .trim()
    .replaceAll(' [title]', '. ')
    .replace(/\[.*?\]/g, '')
    .replaceAll('  ', ' ')

/** The labels are in the lines, or one per line in a separate file. */
export function piqa(file: DataFile, labels?: DataFile, seed?: number): ChoiceTask {
  const given = labels?.text.split('\n').filter((each) => each.trim() !== '')
  const lines = readLines(file)
  if (given !== undefined && given.length !== lines.length)
    throw new HalfbyteError(
      'format',
      `${labels?.name} has ${given.length} labels, and ${file.name} has ${lines.length} items; give the labels of this file`,
      { labels: given.length, items: lines.length },
    )
  const items = itemsOf(lines, (line, index) => {
    if (isOwn(line)) return readOwn(line)
    const choices = [textField(line, 'sol1'), textField(line, 'sol2')]
    const gold = goldOf(line, given === undefined ? line.value['label'] : given[index], 2)
    return item(question(textField(line, 'goal')), choices, gold)
  })
  return choiceTask('piqa', items, seed)
}

const question = (text: string): string => `Question: ${text}\nAnswer:`

/**
 * AI2's lines (`question.stem`), the hub's (`choices.text`, `choices.label`), or lines of users' own files.
 */
export function arc(name: 'arc_easy' | 'arc_challenge', file: DataFile, seed?: number): ChoiceTask {
  return choiceTask(
    name,
    itemsOf(readLines(file), (line) => readArc(line)),
    seed,
  )
}

function readArc(line: Line): ReadItem {
  if (isOwn(line)) return readOwn(line, '\nAnswer:')
  const { question: asked, choices: flat, answerKey } = line.value
  const nested = asked as { stem?: unknown; choices?: unknown } | undefined
  const stem = typeof asked === 'string' ? asked : nested?.stem
  const found = typeof asked === 'string' ? flat : nested?.choices
  const { text, label } = Array.isArray(found)
    ? { text: found.map((each) => each?.text), label: found.map((each) => each?.label) }
    : ((found ?? {}) as { text?: unknown; label?: unknown })
  if (typeof stem !== 'string' || !isTexts(text) || !isTexts(label) || text.length < 2)
    throw wrong(line, 'has no question with choices and their labels')
  const gold = label.indexOf(typeof answerKey === 'string' ? answerKey : shown(answerKey))
  return item(question(stem), text, goldOf(line, gold < 0 ? answerKey : gold, text.length))
}

/** Each option replaces the gap, and the text after the gap is scored. */
export function winogrande(file: DataFile, seed?: number): ChoiceTask {
  const items = itemsOf(readLines(file), (line) => {
    if (isOwn(line)) return readOwn(line)
    const { answer } = line.value
    const sentence = textField(line, 'sentence')
    const gap = sentence.indexOf('_')
    if (gap < 0) throw wrong(line, 'has a sentence without "_"')
    const contexts = [textField(line, 'option1'), textField(line, 'option2')].map(
      (option) => sentence.slice(0, gap) + option,
    )
    const continuation = SEPARATOR + sentence.slice(gap + 1).trim()
    return {
      pairs: contexts.map((context) => [context, continuation] as const),
      lengths: contexts.map(characters),
      gold: goldOf(line, typeof answer === 'object' ? answer : Number(answer) - 1, 2),
    }
  })
  return choiceTask('winogrande', items, seed)
}

/** Yes or no after a passage. Source: `boolq` of lm-evaluation-harness, which has no `acc_norm`. */
export function boolq(file: DataFile, seed?: number): ChoiceTask {
  const items = itemsOf(readLines(file), (line) => {
    if (isOwn(line)) return readOwn(line)
    // SuperGLUE's passages begin with the title, which the authors' files have in a separate field.
    const title = 'title' in line.value ? `${textField(line, 'title')} -- ` : ''
    const query = `${title}${textField(line, 'passage')}\nQuestion: ${textField(line, 'question')}?\nAnswer:`
    const { answer = line.value['label'] } = line.value
    return item(query, ['no', 'yes'], goldOf(line, typeof answer === 'boolean' ? Number(answer) : answer, 2))
  })
  const task = choiceTask('boolq', items, seed)
  return { ...task, metrics: (results) => ({ acc: task.metrics(results)['acc']! }) }
}
