// Sizes. In: conversations. Out: their approximate size in bytes on this device.
import type { Conversation } from './conversations.ts'

/** The texts and image files, with all versions. */
export function sizeOf({ messages }: Conversation): number {
  let files = 0
  const text = JSON.stringify(messages, (_, value) => {
    if (!(value instanceof Blob)) return value
    files += value.size
    return undefined
  })
  return new Blob([text]).size + files
}

/** The largest first. */
export const bySize = (conversations: readonly Conversation[]) =>
  conversations
    .map((conversation) => ({ conversation, bytes: sizeOf(conversation) }))
    .sort((one, other) => other.bytes - one.bytes)
