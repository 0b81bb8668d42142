// The tools for one answer. In: an engine, a message. Out: tools to offer, or a call that was executed before
// the answer.
import { reasonOf } from '../../../core/base/errors.ts'
import type { Engine } from '../../../engine/api/engine.ts'
import type { ToolCall, ToolRun } from '../../../engine/api/types.ts'
import { type AssistTool, assistTools } from './assist-tools.ts'
import { type ChooseOptions, chooseCall, withResult } from './choose-call.ts'
import { needsTool } from './needs-tool.ts'
import { toolWay } from './tool-way.ts'

/** For `session.send(told?.message ?? message, { tools })`; empty if the message needs no tool. */
export interface AssistOffer {
  /** Tools for the model's own template. */
  readonly tools?: readonly AssistTool[] | undefined
  /** A call that was executed, and the message that tells the model its result. */
  readonly told?: { readonly run: ToolRun; readonly message: string } | undefined
}

/**
 * Tools for the answer to one message, in the way that suits the model: described by its template, chosen
 * before the answer, or none for a model that is too small or a message that needs none. Rejects like a reply
 * of the engine, and with the signal's reason.
 */
export async function assistOffer(
  engine: Engine,
  message: string,
  { tools = assistTools(), signal }: ChooseOptions = {},
): Promise<AssistOffer> {
  const way = toolWay(engine.model)
  if (way === 'none' || !needsTool(message)) return {}
  if (way === 'template') return { tools }
  const call = await chooseCall(engine, message, { tools, signal })
  if (call === undefined) return {}
  const run = runOf(call, tools)
  return {
    told: { run, message: run.state === 'done' ? withResult(message, run, run.result ?? '') : message },
  }
}

/** Executes a call, with errors as sessions report them. */
function runOf(call: ToolCall, tools: readonly AssistTool[]): ToolRun {
  try {
    const tool = tools.find(({ name }) => name === call.name)
    if (tool === undefined) throw new RangeError(`${call.name} is not a tool`)
    const result = tool.execute(call.arguments)
    return { ...call, state: 'done', value: result, result }
  } catch (error) {
    return { ...call, state: 'failed', error, result: `error: ${reasonOf(error)}` }
  }
}
