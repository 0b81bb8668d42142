// The BFCL tasks: compares a reply's calls with the right ones, by the rules of the Berkeley Function-Calling
// Leaderboard for Python.

import { MARKERS } from '../../../core/base/calls/marks.ts'
import { isObject, type JsonObject } from '../../../core/base/values.ts'
import { type DataStream, type Line, streamLines, textField, wrong } from '../tasks/read.ts'
import { drawItems } from './draw-items.ts'
import { matchesCall, type Parameter, type PossibleCall } from './match-call.ts'
import {
  type Question,
  type Reply,
  type ReplyItem,
  type ReplyTask,
  type ReplyTaskOptions,
  replyTask,
} from './reply-task.ts'

type BfclTask = 'bfcl_simple' | 'bfcl_multiple'

const MAX_TOKENS = 256

/** JSON Schema's names of BFCL's types. */
const SCHEMA_TYPES: ReadonlyMap<unknown, string> = new Map(
  Object.entries({
    dict: 'object',
    float: 'number',
    integer: 'integer',
    string: 'string',
    boolean: 'boolean',
    array: 'array',
    tuple: 'array',
    any: 'string',
  }),
)

interface BfclFunction {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
  readonly properties: Readonly<Record<string, Parameter>>
  readonly required: readonly string[]
}

/**
 * `accuracy`: the reply is one call, of the right function with right arguments. Throws `format` for items
 * without an answer.
 */
export async function bfcl(
  name: BfclTask,
  file: DataStream,
  answers: DataStream,
  options: ReplyTaskOptions,
): Promise<ReplyTask> {
  const { items: asked, count } = await drawItems(file, readItem, options)
  const ids = new Set(asked.map(({ id }) => id))
  const right = new Map<string, PossibleCall>()
  for await (const { line } of streamLines(answers)) {
    const id = textField(line, 'id')
    const possible = possibleCall(line)
    if (ids.has(id)) right.set(id, possible)
  }
  const items = asked.map(({ place, id, question, functions }): ReplyItem => {
    const possible = right.get(id)
    if (possible === undefined) throw wrong(place, `has the id "${id}", which is missing in ${answers.name}`)
    const called = functions.find((each) => each.name === possible.name)
    if (called === undefined) throw wrong(place, `has no function "${possible.name}", which the answer calls`)
    const mark = ({ toolCalls }: Reply) => ({
      accuracy: [
        toolCalls.length === 1 &&
          toolCalls[0]!.name === possible.name &&
          matchesCall(toolCalls[0]!.arguments, called, possible),
      ],
    })
    return { id, question, mark }
  })
  return replyTask(name, { items, count }, options)
}

/**
 * `accuracy`: no function fits, and the reply has no call. A call of an unknown function also counts as a
 * call.
 */
export async function bfclIrrelevance(file: DataStream, options: ReplyTaskOptions): Promise<ReplyTask> {
  const read = (line: Line): ReplyItem => {
    const { id, question } = readItem(line)
    const mark = ({ text, toolCalls }: Reply) => ({
      accuracy: [toolCalls.length === 0 && !MARKERS.some((marker) => text.includes(marker))],
    })
    return { id, question, mark }
  }
  return replyTask('bfcl_irrelevance', await drawItems(file, read, options), options)
}

interface BfclItem {
  readonly place: Pick<Line, 'file' | 'number'>
  readonly id: string
  readonly question: Question
  readonly functions: readonly BfclFunction[]
}

function readItem(line: Line): BfclItem {
  const { question, function: given } = line.value
  const turns = Array.isArray(question) ? question[0] : undefined
  if (!Array.isArray(turns) || !Array.isArray(given) || given.length === 0)
    throw wrong(line, 'has no turns under "question" or functions under "function"')
  const messages = turns.map((turn) => {
    if (isObject(turn) && isRole(turn['role']) && typeof turn['content'] === 'string')
      return { role: turn['role'], content: turn['content'] }
    throw wrong(line, 'has a turn without a valid role or without content')
  })
  const functions = given.map((each) => readFunction(line, each))
  const tools = functions.map(({ name, description, parameters }) => ({
    name,
    description,
    parameters: asSchema(parameters) as object,
  }))
  return {
    place: { file: line.file, number: line.number },
    id: textField(line, 'id'),
    question: { messages, tools, maxTokens: MAX_TOKENS },
    functions,
  }
}

const isRole = (role: unknown): role is 'system' | 'user' | 'assistant' =>
  role === 'system' || role === 'user' || role === 'assistant'

function readFunction(line: Line, value: unknown): BfclFunction {
  const { name, description = '', parameters }: JsonObject = isObject(value) ? value : {}
  const { properties, required = [] }: JsonObject = isObject(parameters) ? parameters : {}
  if (typeof name !== 'string' || typeof description !== 'string' || !isObject(properties))
    throw wrong(line, 'has a function without a name or without "parameters.properties"')
  for (const [key, each] of Object.entries(properties)) {
    if (!isObject(each) || !SCHEMA_TYPES.has(each['type']))
      throw wrong(
        line,
        `has the parameter "${key}" without one of the types ${[...SCHEMA_TYPES.keys()].join(', ')}`,
      )
  }
  return {
    name,
    description,
    parameters: parameters as JsonObject,
    required: required as string[],
    properties: properties as unknown as BfclFunction['properties'],
  }
}

/** Converts a schema to JSON Schema's types, at any depth. A property may be called `type`. */
function asSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asSchema)
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, part]) => [
    key,
    key === 'type' && typeof part === 'string' ? (SCHEMA_TYPES.get(part) ?? part) : asSchema(part),
  ])
  return Object.fromEntries(entries)
}

function possibleCall(line: Line): PossibleCall {
  const truth = line.value['ground_truth']
  const [call] = Array.isArray(truth) ? truth : []
  const [[name, values] = [undefined, undefined], ...others] = isObject(call) ? Object.entries(call) : []
  const isRight =
    Array.isArray(truth) &&
    truth.length === 1 &&
    others.length === 0 &&
    isObject(values) &&
    Object.values(values).every(Array.isArray)
  if (!isRight || name === undefined) throw wrong(line, 'does not have exactly one call under "ground_truth"')
  return { name, values: values as unknown as PossibleCall['values'] }
}
