// A language's patterns. In: alternatives as sources of regular expressions. Out: one set of them.

/** What someone may need help with. */
export type Need = 'self-harm' | 'medical' | 'violence'

export interface PatternSet {
  /** Its code in BCP 47, in which the answer is given. */
  readonly language: string
  /** Default: `latin`. */
  readonly script?: 'latin' | 'cyrillic' | 'hebrew' | 'arabic' | 'devanagari' | 'han' | 'hangul'
  /** Sentences about suicide and self-harm, the writer's or somebody's whom they know. */
  readonly selfHarm: readonly string[]
  /** Overdoses, poison, and what threatens a life within minutes. */
  readonly medical: readonly string[]
  /** Violence and abuse, suffered or intended. */
  readonly violence: readonly string[]
  /** Harmless uses of the same words; they are removed before the others are looked for. */
  readonly harmless: readonly string[]
  /**
   * Where a match has to stand at the edge of a word: at the start, since words end in many ways; at both ends;
   * or at none, in scripts without spaces and where particles are joined to words. Default: `start`.
   */
  readonly edges?: 'start' | 'both' | 'none'
}

/** Alternatives, separated by `|`, in several parts to fit the line width. */
export const either = (...parts: readonly string[]): string => `(?:${parts.join('|')})`
