// Runs a tool call: checks its arguments, waits for its function, and writes the result for the model.

import { shown } from '../../../core/base/check-options.ts'
import { HalfbyteError, isHalfbyteError, reasonOf } from '../../../core/base/errors.ts'
import { checkValue, FUNCTION, type OptionKind, whole } from '../../../core/base/options/option-kinds.ts'
import { unlessAborted, withTimeLimit } from '../../../core/base/time/abort.ts'
import { isObject } from '../../../core/base/values.ts'
import { type FaultFinder, faultFinder } from '../../../core/constrain/schema/faults.ts'
import type { ToolCall } from '../../types/conversation.ts'
import type { RunnableTool, ToolRun } from '../types.ts'

const TIMEOUT_MS = 60_000
const RESULT_LENGTH = 8000
const ABOVE_ZERO: OptionKind = {
  wanted: 'a number above 0',
  fits: (value) => typeof value === 'number' && value > 0,
}

/** A tool whose options have been checked. */
export interface CheckedTool {
  readonly execute: NonNullable<RunnableTool['execute']>
  readonly timeoutMs: number
  readonly maxResultLength: number
  readonly fault: FaultFinder
}

/** Undefined for a tool without a function. Throws `unsupported` for wrong options. */
export function checkedTool(tool: RunnableTool): CheckedTool | undefined {
  if (!isObject(tool)) return undefined
  const { name, parameters, execute, timeoutMs = TIMEOUT_MS, maxResultLength = RESULT_LENGTH } = tool
  if (execute === undefined) return undefined
  checkValue(`execute of ${shown(name)}`, execute, FUNCTION)
  checkValue(`timeoutMs of ${shown(name)}`, timeoutMs, ABOVE_ZERO)
  checkValue(`maxResultLength of ${shown(name)}`, maxResultLength, whole(1))
  return { execute: execute.bind(tool), timeoutMs, maxResultLength, fault: argumentFaults(name, parameters) }
}

function argumentFaults(name: string, parameters: unknown): FaultFinder {
  if (parameters === undefined) return () => undefined
  const named = <Result>(read: () => Result): Result => {
    try {
      return read()
    } catch (cause) {
      if (!isHalfbyteError(cause)) throw cause
      const sentence = `calls of ${name} cannot be checked: ${cause.message}`
      throw new HalfbyteError(cause.code, sentence, cause.detail, { cause })
    }
  }
  const fault = named(() => faultFinder(parameters, 'the arguments'))
  return (value) => named(() => fault(value))
}

/**
 * Runs the call. Never rejects because of the model or the function; rejects with `unsupported` if the tool's
 * schema has a keyword that cannot be checked. An aborted signal ends the wait, not the function.
 */
export async function runCall(call: ToolCall, tool: CheckedTool, signal: AbortSignal): Promise<ToolRun> {
  const fault = tool.fault(call.arguments)
  try {
    if (fault !== undefined) throw new HalfbyteError('unsupported', fault, { name: call.name })
    const value = await inTime(call, tool, signal)
    return { ...call, state: 'done', value, result: cut(textOf(value), tool.maxResultLength) }
  } catch (error) {
    return { ...call, state: 'failed', error, result: cut(`error: ${reasonOf(error)}`, tool.maxResultLength) }
  }
}

/** The function's result, unless the time runs out or the signal aborts first. */
async function inTime(
  { id, name, arguments: given }: ToolCall,
  { execute, timeoutMs }: CheckedTool,
  outer: AbortSignal,
): Promise<unknown> {
  return withTimeLimit(outer, timeoutMs, `${name} took longer than ${timeoutMs} ms`, async (signal) => {
    signal.throwIfAborted()
    // The function receives a copy, so that the conversation keeps the model's own arguments.
    const copy = structuredClone(given)
    const run = new Promise((resolve) => resolve(execute(copy, { callId: id, signal })))
    return unlessAborted(run, signal)
  })
}

/** Throws for values that JSON cannot represent, such as cycles. */
const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? 'done')

/** The beginning of the text, and a line that says how much is missing. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text
  const kept = text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')
  return `${kept}\n[the first ${kept.length} of ${text.length} characters]`
}
