// Constrains a reply to the grammar of tool calls from a call's marker until the call is complete.

import { CALL_MARKS, formOf, letterOf, MARKERS } from '../../core/base/calls/marks.ts'
import type { ReplyConstraint, TokenConstraint } from '../../core/constrain/written-grammar.ts'
import { firstMark } from '../../core/text/chat/marks.ts'
import type { LoadedModel, ModelText } from '../load/loaded-model.ts'

const LONGEST_MARK = Math.max(...MARKERS.map(({ length }) => length))
const encoder = new TextEncoder()

/**
 * The constraint of a reply with tools. Outside calls, `around` applies, if there is one. `calls` creates the
 * constraint on the text after a marker; it is called once the first marker has been written.
 */
export class HeldCalls implements ReplyConstraint {
  readonly #calls: () => TokenConstraint
  readonly #around: ReplyConstraint | undefined
  readonly #decoder: ReturnType<ModelText['detokenizer']>
  /** The end of the text so far; only the text after the marker once there is one. */
  #text = ''
  #marker: string | undefined
  /** The constraint on the call that is being written. */
  #call: TokenConstraint | undefined

  /** `after`: the id before the reply, as for decoding the reply itself. */
  constructor(
    model: LoadedModel,
    calls: () => TokenConstraint,
    around: ReplyConstraint | undefined,
    after: number | undefined,
  ) {
    this.#calls = calls
    this.#around = around
    this.#decoder = model.text.detokenizer({ toolCalls: true, after })
  }

  mask(): Uint32Array | undefined {
    // hot
    return (this.#call ?? this.#around)?.mask()
  }

  accept(id: number): void {
    // hot
    this.#around?.accept(id)
    const piece = this.#decoder.push(id)
    if (this.#call === undefined) this.#look(piece)
    else {
      this.#call.accept(id)
      if (this.#call.mustEnd) this.#forget()
    }
  }

  /** Looks for a marker, and for the text that distinguishes a call from prose. */
  #look(piece: string): void {
    // hot
    this.#text += piece
    if (this.#marker === undefined) {
      const found = firstMark(this.#text, MARKERS)
      if (found === undefined) {
        this.#text = this.#text.slice(1 - LONGEST_MARK)
        return
      }
      this.#marker = found.mark
      this.#text = this.#text.slice(found.at + found.mark.length)
    }
    const { starts } = CALL_MARKS[formOf(this.#marker)]
    const first = this.#text.trimStart()[0]
    if (starts !== undefined && first === undefined) return
    if (starts === undefined || starts.includes(first!)) this.#open(this.#marker)
    else this.#forget()
  }

  #open(marker: string): void {
    const call = this.#calls()
    // The rest of the token that completed the marker may not match any call; then the reply stays
    // unconstrained.
    const fits = call.acceptText(encoder.encode(letterOf(marker) + this.#text))
    this.#forget()
    if (fits && !call.mustEnd) this.#call = call
  }

  #forget(): void {
    this.#call = undefined
    this.#marker = undefined
    this.#text = ''
  }

  expectedIds(): readonly number[] {
    // hot
    return (this.#call ?? this.#around)?.expectedIds() ?? []
  }

  get canEnd(): boolean {
    return this.#call === undefined && this.#around?.canEnd !== false
  }

  get mustEnd(): boolean {
    return this.canEnd && this.#around?.mustEnd === true
  }
}
