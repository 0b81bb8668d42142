// Undoing in the composer. In: steps that change the attached files, some of them with the text. Out: Control
// or Command with Z takes them back, in their order among the edits that the browser takes back itself.
import type { Attachment } from './attachments.ts'

/** What the composer has: its text, and the files beside it. */
export interface Written {
  readonly text: string
  readonly files: readonly Attachment[]
}

interface Step {
  readonly before: Written
  readonly after: Written
}

/** True for a step that the browser knows nothing of. */
const isOurs = ({ before, after }: Step): boolean => before.text === after.text

export class Undo {
  #done: Step[] = []
  #undone: Step[] = []

  /** Notes a step. One that changes the text must have changed it as an edit that the browser takes back. */
  note(before: Written, after: Written): void {
    this.#done.push({ before, after })
    this.#undone = []
  }

  /** For a key: the files to have now. Undefined if the browser does what the key means. */
  pressed(event: KeyboardEvent, text: string): readonly Attachment[] | undefined {
    const way = wayOf(event)
    const step = way === 'undo' ? this.#done.at(-1) : way === 'redo' ? this.#undone.at(-1) : undefined
    // Another text: edits that are newer come first.
    if (step === undefined || !isOurs(step) || step.after.text !== text) return undefined
    return way === 'undo' ? this.#back() : this.#forth()
  }

  /** For an edit that the browser has made: the files to have now. Undefined if they stay. */
  edited(inputType: string, text: string): readonly Attachment[] | undefined {
    const back = this.#done.at(-1)
    const forth = this.#undone.at(-1)
    if (inputType === 'historyUndo')
      return back !== undefined && !isOurs(back) && back.before.text === text ? this.#back() : undefined
    if (inputType === 'historyRedo')
      return forth !== undefined && !isOurs(forth) && forth.after.text === text ? this.#forth() : undefined
    this.#undone = []
    return undefined
  }

  /** What was sent cannot be taken back. */
  forget(): void {
    this.#done = []
    this.#undone = []
  }

  #back(): readonly Attachment[] | undefined {
    const step = this.#done.pop()
    if (step !== undefined) this.#undone.push(step)
    return step?.before.files
  }

  #forth(): readonly Attachment[] | undefined {
    const step = this.#undone.pop()
    if (step !== undefined) this.#done.push(step)
    return step?.after.files
  }
}

/** What a key means. On a keyboard without Latin letters the key's place says which it is. */
function wayOf({
  key,
  code,
  ctrlKey,
  metaKey,
  altKey,
  shiftKey,
}: KeyboardEvent): 'undo' | 'redo' | undefined {
  if (ctrlKey === metaKey || altKey) return undefined
  const letter = /^[a-z]$/i.test(key) ? key.toLowerCase() : code.slice(-1).toLowerCase()
  if (letter === 'z') return shiftKey ? 'redo' : 'undo'
  return letter === 'y' && !shiftKey ? 'redo' : undefined
}
