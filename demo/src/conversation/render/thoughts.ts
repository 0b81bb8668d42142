// Thoughts. In: an answer of a reasoning model. Out: its thought and its answer.

interface Thoughtful {
  /** Undefined if the model does not think aloud. */
  readonly thoughts: string | undefined
  /** True while the thoughts are not closed. */
  readonly isThinking: boolean
  readonly answer: string
}

const OPEN = /^\s*<think>\r?\n?/
const CLOSE = '</think>'

/** The parts of an answer. Answers stored by earlier versions have their thoughts in the text. */
export function partsOf(
  { content, thoughts }: { readonly content: string; readonly thoughts?: string },
  isGrowing = false,
): Thoughtful {
  if (thoughts === undefined) return withoutThoughts(content)
  return { thoughts, isThinking: isGrowing && content === '', answer: content }
}

/** Only a block at the very start is a thought: later ones are quotes in the answer. */
export function withoutThoughts(text: string): Thoughtful {
  const start = OPEN.exec(text)?.[0].length
  if (start === undefined) return { thoughts: undefined, isThinking: false, answer: text }
  const end = text.indexOf(CLOSE, start)
  if (end < 0) return { thoughts: text.slice(start), isThinking: true, answer: '' }
  return {
    thoughts: text.slice(start, end).trimEnd(),
    isThinking: false,
    answer: text.slice(end + CLOSE.length).trimStart(),
  }
}
