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
export type {
  AbortOptions,
  Assets,
  ContentPart,
  ExecuteOptions,
  GenerateOptions,
  Generation,
  GenerationResult,
  LoadOptions,
  ModelSource,
  PrepareOptions,
  ProbeOptions,
  ReplyChunk,
  ReplyStep,
  RunnableTool,
  SaidMessage,
  Session,
  SessionOptions,
  Support,
  ToolRun,
} from './api/types.ts'
export type { EngineNote, NoteCode } from './base/engine-notes.ts'
export { type ErrorCode, type ErrorDetail, HalfbyteError, isHalfbyteError } from './base/errors.ts'
export type { LogitProcessorContext, LogitProcessorFactory } from './engine/reply/load-processors.ts'
export type {
  FinishReason,
  GraphOffer,
  LoadProgress,
  MemoryUse,
  Message,
  ModelInfo,
  PictureSource,
  ProbeReport,
  Smaller,
  SpeculationKind,
  TextChunk,
  Timings,
  TokenLogprob,
  TokenLogprobs,
  Tool,
  ToolCall,
  Usage,
  WeightPolicy,
} from './engine/wire/protocol.ts'
export type { EmbedOptions } from './evaluate/embed.ts'
export type { Score } from './evaluate/score.ts'
export type { Pixels } from './formats/pixels.ts'
export { SAMPLER_DEFAULTS, type SamplerOptions } from './generate/sampler/sampler-options.ts'
export type { Priority } from './generate/schedule/work.ts'
export type { KvFormat } from './graph/ir.ts'
export type { Build } from './runtime/features.ts'
export type { PoolKind } from './runtime/pool.ts'
export type { DownloadProgress } from './store/download/tally.ts'
export type { ReasoningMarks } from './text/chat/reasoning.ts'
