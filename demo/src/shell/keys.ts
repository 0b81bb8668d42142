// Keys. In: a keyboard event. Out: whether it sends what was written, and the shortcuts of the page.

/** True where a finger types: there Enter makes a new line, as in other apps of a phone. */
export const isTouch = (): boolean => window.matchMedia('(hover: none) and (pointer: coarse)').matches

/** Enter sends at a desktop; Control or Command with Enter sends everywhere. */
export function sends(event: KeyboardEvent): boolean {
  if (event.key !== 'Enter' || event.isComposing || event.shiftKey) return false
  return event.ctrlKey || event.metaKey || !isTouch()
}

export interface Shortcut {
  readonly keys: string
  readonly does: string
}

export const SHORTCUTS: readonly Shortcut[] = [
  { keys: 'Enter', does: 'Send' },
  { keys: 'Shift+Enter', does: 'New line' },
  { keys: 'Escape', does: 'Stop the answer, or cancel an edit' },
  { keys: 'Alt+N', does: 'New chat' },
  { keys: 'Alt+M', does: 'Choose a model' },
  { keys: 'Alt+S', does: 'Settings' },
  { keys: 'Alt+C', does: 'Write a message' },
]
