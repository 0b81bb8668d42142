// Holds a reply to the grammar of tool calls from a marker of a call on, until that call is complete.

import { memo } from '../../core/base/values.ts'
import type { ReplyConstraint, TokenConstraint } from '../../core/constrain/written-grammar.ts'
import { firstMark } from '../../core/text/chat/marks.ts'
import { HELD_FORMS, type HeldForm } from '../../core/text/chat/tool-call-forms.ts'
import type { LoadedModel, ModelText } from '../load/loaded-model.ts'

const LONGEST_MARK = Math.max(...HELD_FORMS.map(({ marker }) => marker.length))
const MARKS = HELD_FORMS.map(({ marker }) => marker)
const encoder = new TextEncoder()

/**
 * The constraint of a reply with tools. Outside calls `around` applies, if there is one. `calls` makes the
 * constraint on what follows a marker; it is called when the first marker was written.
 */
export class HeldCalls implements ReplyConstraint {
  readonly #model: LoadedModel
  readonly #calls: () => TokenConstraint
  readonly #around: ReplyConstraint | undefined
  readonly #decoder: ReturnType<ModelText['detokenizer']>
  /** The end of the text so far, from a marker on if it has one. */
  #text = ''
  #form: HeldForm | undefined
  /** The constraint on the call that is being written. */
  #call: TokenConstraint | undefined
  /** The remaining ids of the text that ends a call. */
  #closing: readonly number[] = []
  readonly #words: Uint32Array
  readonly #endIds = new Map<string, readonly number[]>()

  /** `after`: the id before the reply, as for decoding the reply's own text. */
  constructor(
    model: LoadedModel,
    calls: () => TokenConstraint,
    around: ReplyConstraint | undefined,
    after: number | undefined,
  ) {
    this.#model = model
    this.#calls = calls
    this.#around = around
    this.#decoder = model.text.detokenizer({ toolCalls: true, after })
    this.#words = new Uint32Array(Math.ceil(model.logitRows.vocab / 32))
  }

  mask(): Uint32Array | undefined {
    // hot
    const [next] = this.#closing
    if (next === undefined) return this.#call?.mask() ?? this.#around?.mask()
    this.#words.fill(0)
    this.#words[next >> 5] = 1 << (next & 31)
    return this.#words
  }

  accept(id: number): void {
    // hot
    this.#around?.accept(id)
    const piece = this.#decoder.push(id)
    if (this.#closing.length > 0) this.#closing = this.#closing.slice(1)
    else if (this.#call === undefined) this.#look(piece)
    else {
      this.#call.accept(id)
      if (this.#call.mustEnd) this.#close()
    }
  }

  /** Looks for a marker, and for the text that identifies the call format. */
  #look(piece: string): void {
    // hot
    this.#text += piece
    if (this.#form === undefined) {
      const found = firstMark(this.#text, MARKS)
      if (found === undefined) {
        this.#text = this.#text.slice(1 - LONGEST_MARK)
        return
      }
      this.#form = HELD_FORMS.find(({ marker }) => marker === found.mark)!
      this.#text = this.#text.slice(found.at + found.mark.length)
    }
    const { starts, begins = '' } = this.#form
    const first = this.#text.trimStart()[0]
    if (starts !== undefined && first === undefined) return
    if (starts === undefined || starts.includes(first!)) this.#open(begins)
    else this.#forget()
  }

  #open(begins: string): void {
    const call = this.#calls()
    // The text that a token wrote after the marker may fit no call; then the reply stays unconstrained.
    if (!call.acceptText(encoder.encode(begins + this.#text))) this.#forget()
    else if (call.mustEnd) this.#close()
    else this.#call = call
  }

  #close(): void {
    const { end = '' } = this.#form ?? {}
    this.#closing = memo(this.#endIds, end, () => (end === '' ? [] : this.#model.text.encode(end, false)))
    this.#forget()
  }

  #forget(): void {
    this.#call = undefined
    this.#form = undefined
    this.#text = ''
  }

  expectedIds(): readonly number[] {
    // hot
    if (this.#closing.length > 0) return this.#closing
    return (this.#call ?? this.#around)?.expectedIds() ?? []
  }

  get canEnd(): boolean {
    return this.#call === undefined && this.#closing.length === 0 && this.#around?.canEnd !== false
  }

  get mustEnd(): boolean {
    return this.canEnd && this.#around?.mustEnd === true
  }
}
