// Checks messages from a page or from a saved session.
import { isCount, isObject } from '../../core/base/values.ts'
import type { Message, ToolCall } from '../types/conversation.ts'
import { MAX_PICTURES } from './picture-marks.ts'

const ROLES: readonly string[] = ['system', 'user', 'assistant', 'tool'] satisfies Message['role'][]

export function isMessage(value: unknown): value is Message {
  if (!isObject(value)) return false
  const { role, content, images, reasoning, toolCalls, toolCallId, name } = value
  return (
    ROLES.includes(role as string) &&
    typeof content === 'string' &&
    (images === undefined ||
      (Array.isArray(images) && images.length < MAX_PICTURES && images.every(isPicture))) &&
    isTextOrAbsent(reasoning) &&
    (toolCalls === undefined || (Array.isArray(toolCalls) && toolCalls.every(isToolCall))) &&
    isTextOrAbsent(toolCallId) &&
    isTextOrAbsent(name)
  )
}

/** A file or pixels; in a saved session, either of them as text. */
const isPicture = (value: unknown): boolean =>
  value instanceof Blob ||
  value instanceof ArrayBuffer ||
  value instanceof Uint8Array ||
  (isObject(value) &&
    (typeof value['type'] === 'string' || (isCount(value['width']) && isCount(value['height']))) &&
    (ArrayBuffer.isView(value['data']) || isBase64(value['base64'])))

const isBase64 = (value: unknown): boolean =>
  typeof value === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(value)

const isToolCall = (value: unknown): value is ToolCall =>
  isObject(value) &&
  typeof value['id'] === 'string' &&
  typeof value['name'] === 'string' &&
  isObject(value['arguments']) &&
  isTextOrAbsent(value['argumentsJson'])

export const isTextOrAbsent = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === 'string'
