// Saved sessions. In: the plain JSON part of a session's file. Out: the same, checked: a file's hash does not
// tell who wrote it.
import { areCounts, isCount, isObject } from '../../base/values.ts'
import { notSnapshot } from '../../state/snapshot.ts'
import type { Message, SavedSession } from '../wire/protocol.ts'
import type { ToolCall } from '../wire/reply.ts'
import type { SavedTranscript } from './transcript.ts'

const ROLES: readonly string[] = ['system', 'user', 'assistant', 'tool'] satisfies Message['role'][]

export interface SavedConversation extends SavedSession {
  readonly transcript: SavedTranscript
}

/** `value` in the form that `save` wrote. Throws `format`, naming the file, if it has any other form. */
export function savedConversation(value: unknown, name: string): SavedConversation {
  if (isConversation(value)) return value
  throw notSnapshot({ name })
}

const isConversation = (value: unknown): value is SavedConversation =>
  isSavedSession(value) && isTranscript((value as SavedConversation).transcript)

export function isSavedSession(value: unknown): value is SavedSession {
  if (!isObject(value)) return false
  const { system, messages, contextUsed, overflow, keep } = value
  return (
    isTextOrAbsent(system) &&
    Array.isArray(messages) &&
    messages.every(isMessage) &&
    isCount(contextUsed) &&
    (overflow === undefined || overflow === 'error' || overflow === 'shift') &&
    (keep === undefined || isCount(keep))
  )
}

export function isMessage(value: unknown): value is Message {
  if (!isObject(value)) return false
  const { role, content, reasoning, toolCalls, toolCallId, name } = value
  return (
    ROLES.includes(role as string) &&
    typeof content === 'string' &&
    isTextOrAbsent(reasoning) &&
    (toolCalls === undefined || (Array.isArray(toolCalls) && toolCalls.every(isToolCall))) &&
    isTextOrAbsent(toolCallId) &&
    isTextOrAbsent(name)
  )
}

const isToolCall = (value: unknown): value is ToolCall =>
  isObject(value) &&
  typeof value['id'] === 'string' &&
  typeof value['name'] === 'string' &&
  isObject(value['arguments'])

function isTranscript(value: unknown): value is SavedTranscript {
  if (!isObject(value)) return false
  const { text, ids, cuts } = value
  if (typeof text !== 'string' || !areCounts(ids) || !Array.isArray(cuts)) return false
  const isInside = (cut: unknown): boolean =>
    isObject(cut) &&
    isCount(cut['chars']) &&
    isCount(cut['tokens']) &&
    cut['chars'] <= text.length &&
    cut['tokens'] <= ids.length
  const rises = (key: string): boolean =>
    cuts.every((cut, index) => index === 0 || cut[key] >= cuts[index - 1][key])
  return cuts.every(isInside) && rises('chars') && rises('tokens')
}

const isTextOrAbsent = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === 'string'
