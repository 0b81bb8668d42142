// The public names: everything that users of the package may import, and nothing else.
export type { EngineNote, NoteCode } from './core/base/engine-notes.ts'
export { type ErrorCode, type ErrorDetail, HalfbyteError, isHalfbyteError } from './core/base/errors.ts'
export type { Pixels } from './core/formats/pixels.ts'
export type { Priority } from './core/generate/schedule/work.ts'
export type { KvFormat } from './core/graph/ir.ts'
export type { Build } from './core/runtime/features.ts'
export type { PoolKind } from './core/runtime/pool.ts'
export type { StoredSession } from './core/store/device/sessions.ts'
export { storedSessions, unstoreSession } from './core/store/device/stored-sessions.ts'
export type { DownloadProgress } from './core/store/download/tally.ts'
export type { ReasoningMarks } from './core/text/chat/reasoning.ts'
export { Engine } from './engine/api/engine.ts'
export { forgetInterruptedLoads, type InterruptedLoad, interruptedLoads } from './engine/api/interrupted.ts'
export {
  keepStored,
  makeRoom,
  type StoredAddress,
  type StoredFile,
  storedBytes,
  storedFiles,
  unstore,
} from './engine/api/stored.ts'
export {
  type AbortOptions,
  type Assets,
  type ContentPart,
  type ExecuteOptions,
  type FinishReason,
  type GenerateOptions,
  type Generation,
  type GenerationResult,
  type GraphOffer,
  type LoadOptions,
  type LoadProgress,
  type MemoryUse,
  type Message,
  type ModelInfo,
  type ModelSource,
  type PictureSource,
  type PrefillOptions,
  type PrefillProgress,
  type PrefillResult,
  type PrepareOptions,
  type ProbeOptions,
  type ProbeReport,
  type ReplyChunk,
  type ReplyStep,
  type RunnableTool,
  SAMPLER_DEFAULTS,
  type SaidMessage,
  type SamplerOptions,
  type ScoredToken,
  type ScoreTokensOptions,
  type Session,
  type SessionOptions,
  type Smaller,
  type SpeculationKind,
  type Support,
  type TextChunk,
  type Timings,
  type TokenLogprob,
  type TokenLogprobs,
  type Tool,
  type ToolCall,
  type ToolRun,
  type Usage,
  type WeightPolicy,
} from './engine/api/types.ts'
export type { LogitProcessorContext, LogitProcessorFactory } from './engine/reply/load-processors.ts'
export type { EmbedOptions } from './engine/score/embed.ts'
export type { Score } from './engine/score/score.ts'
