// Shortcuts. The page's keys and what they do.
import type { LaterWord } from '../words/later-words.ts'

interface Shortcut {
  readonly keys: string
  readonly does: LaterWord
}

export const SHORTCUTS: readonly Shortcut[] = [
  { keys: 'Enter', does: 'send' },
  { keys: 'Shift+Enter', does: 'keyLine' },
  { keys: 'Escape', does: 'keyEscape' },
  { keys: 'Alt+N', does: 'newChat' },
  { keys: 'Alt+M', does: 'chooseModel' },
  { keys: 'Alt+S', does: 'settings' },
  { keys: 'Alt+C', does: 'keyWrite' },
]
