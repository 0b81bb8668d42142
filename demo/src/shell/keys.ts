// Shortcuts. In: nothing. Out: the keys of the page, and what they do.

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
