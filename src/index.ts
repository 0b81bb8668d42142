// The public names: everything that users of the package may import, and nothing else.
export { Engine } from './api/engine.ts'
export { forgetInterruptedLoads, type InterruptedLoad, interruptedLoads } from './api/interrupted.ts'
export {
  keepStored,
  makeRoom,
  type StoredAddress,
  type StoredFile,
  type StoredSession,
  storedBytes,
  storedFiles,
  storedSessions,
  unstore,
  unstoreSession,
} from './api/stored.ts'
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
  type PrepareOptions,
  type ProbeOptions,
  type ProbeReport,
  type ReplyChunk,
  type ReplyStep,
  type RunnableTool,
  SAMPLER_DEFAULTS,
  type SaidMessage,
  type SamplerOptions,
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
} from './api/types.ts'
export type { EngineNote, NoteCode } from './base/engine-notes.ts'
export { type ErrorCode, type ErrorDetail, HalfbyteError, isHalfbyteError } from './base/errors.ts'
export type { LogitProcessorContext, LogitProcessorFactory } from './engine/reply/load-processors.ts'
export type { EmbedOptions } from './evaluate/embed.ts'
export type { Score } from './evaluate/score.ts'
export type { Pixels } from './formats/pixels.ts'
export type { Priority } from './generate/schedule/work.ts'
export type { KvFormat } from './graph/ir.ts'
export type { Build } from './runtime/features.ts'
export type { PoolKind } from './runtime/pool.ts'
export type { DownloadProgress } from './store/download/tally.ts'
export type { ReasoningMarks } from './text/chat/reasoning.ts'
