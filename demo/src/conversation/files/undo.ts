// Undo in the composer. In: steps that change the attached files, some of them with the text. Out: Control or
// Command with Z undoes them, in order with the edits that the browser undoes itself.
import type { Attachment } from './attachments.ts'

/** The composer's state: its text and attached files. */
export interface Written {
  readonly text: string
  readonly files: readonly Attachment[]
}

interface Step {
  readonly before: Written
  readonly after: Written
}

/** True for a step that the browser does not know about. */
const isOurs = ({ before, after }: Step): boolean => before.text === after.text

export class Undo {
  #done: Step[] = []
  #undone: Step[] = []

  /** Records a step. If it changes the text, it must have done so in a way that the browser can undo. */
  note(before: Written, after: Written): void {
    this.#done.push({ before, after })
    this.#undone = []
  }

  /** Handles a key and returns the resulting files. Undefined if the browser handles it. */
  pressed(event: KeyboardEvent, text: string): readonly Attachment[] | undefined {
    const way = wayOf(event)
    const step = way === 'undo' ? this.#done.at(-1) : way === 'redo' ? this.#undone.at(-1) : undefined
    // If the text differs, newer edits are undone first, by the browser.
    if (step === undefined || !isOurs(step) || step.after.text !== text) return undefined
    return way === 'undo' ? this.#back() : this.#forth()
  }

  /**
   * Handles an undo or redo by the browser and returns the resulting files. Undefined if they do not change.
   */
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

  /** Sent messages cannot be undone. */
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

/** The meaning of a key. On non-Latin keyboards, the physical key identifies it. */
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
