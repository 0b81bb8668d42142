// A language's patterns, as the sources of regular expressions.

/** The kinds of need. */
export type Need = 'self-harm' | 'medical' | 'violence'

export interface RecognizedNeed {
  readonly need: Need
  /** The language of the message, as a BCP 47 code. */
  readonly language: string
}

export interface PatternSet {
  /** The language's BCP 47 code; the answer is in this language. */
  readonly language: string
  /** Default: `latin`. */
  readonly script?: 'latin' | 'cyrillic' | 'hebrew' | 'arabic' | 'devanagari' | 'han' | 'hangul'
  /** Sentences about suicide and self-harm, by the writer or somebody they know. */
  readonly selfHarm: readonly string[]
  /** Overdoses, poison, and anything that threatens a life within minutes. */
  readonly medical: readonly string[]
  /** Violence and abuse, suffered or intended. */
  readonly violence: readonly string[]
  /** Harmless uses of the same words; they are removed before the other patterns are tried. */
  readonly harmless: readonly string[]
  /** Chat spellings and frequent mistakes with what they stand for, which are replaced before all else. */
  readonly spellings?: readonly (readonly [mistake: string, meant: string])[]
  /**
   * Which ends of a match must be word boundaries: the start, because words have many endings; both; or none,
   * in scripts without spaces and where particles are joined to words. Default: `start`.
   */
  readonly edges?: 'start' | 'both' | 'none'
}

/** Medicines with one name, or nearly one, in languages with Latin letters. */
export const MEDICINES =
  'paracetamol|ibuprofen[oe]?|aspirin[ae]?|diazepam|lorazepam|alprazolam|clonazepam|zolpidem|valium|xanax|rivotril|tavor|codeine?|tramadol|insulin[ae]?|dipirona|panadol|tylenol|nurofen'

/** Joins alternatives with `|`; they come in several parts to fit the line width. */
export const either = (...parts: readonly string[]): string => `(${parts.join('|')})`
