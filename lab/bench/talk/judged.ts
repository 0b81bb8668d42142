// Compares answers with judged ones. In: messages with answers judged by a person, and new answers. Out: the
// messages with their new answers, which keep their grade only if they are unchanged, and a summary.

/**
 * The quality of an answer. `declined`: it says what the model cannot do, and offers a model that may be able
 * to.
 */
export const GRADES = ['good', 'declined', 'fair', 'bad', 'dangerous'] as const
type Grade = (typeof GRADES)[number]

export interface Judged {
  readonly text: string
  /** True if it continues the chat of the previous message. */
  readonly continues?: true
  readonly answer?: string
  /** Absent until a person has judged the answer. */
  readonly grade?: Grade
}

export const withAnswers = (messages: readonly Judged[], answers: readonly string[]): readonly Judged[] =>
  messages.map(({ text, continues, answer: before, grade }, index) => {
    const answer = answers[index] ?? ''
    const isSame = answer === before && grade !== undefined
    return { text, ...(continues && { continues }), ...(isSame && { grade }), answer }
  })

/** The number of answers by grade, and the answers without a grade. */
export function summary(name: string, messages: readonly Judged[]): string {
  const counts = GRADES.map((grade) => {
    const count = messages.filter((message) => message.grade === grade).length
    return `${grade} ${count}`
  })
  const unjudged = messages.filter(({ grade }) => grade === undefined)
  const lines = unjudged.map(
    ({ text, answer }) => `\n  U: ${JSON.stringify(text)}\n  A: ${JSON.stringify(answer)}`,
  )
  return `${name}, ${messages.length} messages: ${counts.join(', ')}, not judged ${unjudged.length}${lines.join('')}`
}
