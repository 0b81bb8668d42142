// The notes of an engine: how a load differs from the request, as English sentences and as data for pages in
// other languages.

/** The codes of notes, each with the values that its text mentions. */
export interface NoteValues {
  /** The caller asked for `pool: 'single'` and several threads. */
  'single-pool': Readonly<Record<never, never>>
  /** No workers can be started here, so one thread does all the work. */
  'no-workers': Readonly<Record<never, never>>
  /** Measurements found one thread to be the fastest. */
  'one-thread': Readonly<Record<never, never>>
  /** The browser refused to share the memory that the model needs. */
  'no-shared-memory': Readonly<Record<never, never>>
  /** The page is not isolated (COOP, COEP), so threads cannot share memory. */
  'not-isolated': Readonly<Record<never, never>>
  /** The model cannot be split into as many shards as requested. `reason`: the library's message. */
  'uncut-model': { readonly reason: string }
  /** Shards could not be started. `reason`: the library's message. */
  'failed-shards': { readonly reason: string }
  /** The model was trained for fewer tokens than requested (`asked`). */
  'trained-context': { readonly tokens: number; readonly asked: number }
  /** The ONNX file's graph is known to be correct only for fewer tokens than requested (`asked`). */
  'proven-context': { readonly tokens: number; readonly asked: number }
  /**
   * LongRoPE encodes the positions of texts of up to `tokens` tokens like those of longer texts, because the
   * context is longer.
   */
  'long-rotation': { readonly tokens: number; readonly context: number }
  /** The model's files have invalid sampling settings. */
  'ignored-sampling': { readonly settings: string }
  /** `weights: 'w4_channel'` quantises again the matrices that the file stores with scales per group. */
  'coarser-scales': { readonly matrices: number }
  /** The chat template cannot be read. `reason`: the library's message. */
  'unreadable-template': { readonly reason: string }
  /**
   * The model comes with a vision tower that is not supported, so it was loaded without it. `reason`: what is
   * unsupported.
   */
  'unbuilt-vision': { readonly reason: string }
  /** The chat template has no system role. */
  'merged-system': Readonly<Record<never, never>>
}

/** What a note says, for programs. */
export type NoteCode = keyof NoteValues

/** A way in which the engine differs from the request. Later releases may have more codes. */
export type EngineNote = {
  [Code in NoteCode]: {
    readonly code: Code
    /** In English. */
    readonly text: string
    readonly values: NoteValues[Code]
  }
}[NoteCode]

/** Notes without values. */
export const PLAIN_NOTES = {
  'single-pool': { code: 'single-pool', text: 'the single pool has one thread', values: {} },
  'no-workers': { code: 'no-workers', text: 'no workers can be started here', values: {} },
  'one-thread': { code: 'one-thread', text: 'one thread was fastest when measured', values: {} },
  'no-shared-memory': {
    code: 'no-shared-memory',
    text: 'the browser refused to share the memory that the model needs',
    values: {},
  },
  'not-isolated': {
    code: 'not-isolated',
    text: 'threads cannot share memory here; isolate the page (COOP, COEP) or use the shards pool',
    values: {},
  },
} as const satisfies Partial<Record<NoteCode, EngineNote>>
