// A toy model for tests. In: bytes. Out: replies that quote the last user message, from a real scheduler and
// state cache.

import { ABI, SEQUENCE, SEQUENCE_WORDS, STEP } from '../../core/abi/constants.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { ConstraintCompiler } from '../../core/constrain/compile.ts'
import type { SamplerOptions } from '../../core/generate/sampler/sampler-options.ts'
import { PlainRows } from '../../core/generate/sampler/testing/plain-rows.ts'
import { Scheduler } from '../../core/generate/schedule/scheduler.ts'
import { Sequence } from '../../core/generate/schedule/sequence.ts'
import { StepBuffer } from '../../core/generate/schedule/step-buffer.ts'
import type { Plan } from '../../core/graph/plan/plan.ts'
import { Arena, type Ptr } from '../../core/runtime/memory/arena.ts'
import type { Pool } from '../../core/runtime/pool.ts'
import { StateCache } from '../../core/state/state-cache.ts'
import { marksAround, type ReasoningForm } from '../../core/text/chat/reasoning.ts'
import type { LoadedModel, ModelText } from '../load/loaded-model.ts'
import { sightOf } from '../load/sight.ts'

/** Ends a turn; spelled `<end>` in text. */
const END = 256
/** "You said ". The encoder never produces this id, so encoding a reply again yields different ids. */
const OPENING = 257
const VOCAB = 258
/** Bytes 0..7 break things on purpose. */
export const NAN_LOGITS = '\x01'
export const DEAD_POOL = '\x02'

export interface ToyModel extends LoadedModel {
  /** Number of rows processed so far. */
  rows(): number
  /** Bytes of state in live sequences. */
  liveBytes(): number
  isDisposed(): boolean
}

/**
 * A row's state is its id, so a wrong block table or a wrong prefix produces a wrong text. After
 * `<assistant>`, the model says "You said X" and ends, where X is the last message of the user or a tool.
 * Without `<assistant>`, it counts up from the last byte forever.
 */
export function toyModel(
  options: {
    contextLength?: number
    /** Its state cannot be moved. */
    isFixed?: boolean
    fingerprint?: string
    sampling?: SamplerOptions
    templateArguments?: readonly string[]
    /**
     * The marks of its thoughts. If set, it writes X without "You said", so that X may begin with a thought.
     */
    reasoning?: ReasoningForm
    /** The end of its prompts, which begins X. */
    opens?: string
  } = {},
): ToyModel {
  const { contextLength = 4096, sampling = {}, templateArguments = [], reasoning, opens = '' } = options
  const arena = new Arena(new WebAssembly.Memory({ initial: 16 }), 64)
  const state = new StateCache({
    arena,
    blockBytes: [ABI.BLOCK_POSITIONS * 4],
    contextLength,
    isFixed: options.isFixed,
    move: (_, from, to, count) => {
      for (let index = 0; index < count; index++) {
        arena.u32[wordOf(arena.u32, to.table, to.position + index)] =
          arena.u32[wordOf(arena.u32, from.table, from.position + index)]!
      }
    },
  })
  const plan: Plan = {
    ops: [],
    slots: [],
    stateGroups: [],
    exchanges: [],
    slabBytes: 0,
    pools: [],
    arenaBytes: 4 * VOCAB * 4,
    tokens: 64,
    logitRows: 4,
    logits: { arena: 0, stride: VOCAB * 4, width: VOCAB },
    hidden: { arena: 0, stride: VOCAB * 4, width: VOCAB, ops: 0 },
  }
  const activations = arena.allocate(plan.arenaBytes, 'the activations')
  const written = { records: activations, count: 0, activations }
  const step = new StepBuffer(arena, { tokens: 64, logitRows: 4, sequences: 4 }, 1, [])
  const pool = new ToyPool(arena, activations, reasoning === undefined ? [OPENING] : [])
  const scheduler = new Scheduler({
    pool,
    arena,
    plan,
    written,
    step,
    now: () => performance.now(),
    yieldTask: () => new Promise((resolve) => setImmediate(resolve)),
  })
  let isDisposed = false
  return {
    info: {
      model: {
        id: 'toy',
        architecture: 'toy',
        parameters: 0,
        contextLength,
        sampling,
        templateArguments,
        readsTools: false,
        seesImages: false,
      },
      threads: 1,
      pool: 'single',
      notes: [],
      build: 'simd128',
    },
    logitRows: new PlainRows(VOCAB),
    text: { ...toyText, reasoning },
    constraints: new ConstraintCompiler(toyTokens, VOCAB, toyText.endIds),
    scheduler,
    sight: sightOf(undefined, 'toy', toyText),
    renderPrompt: (messages, options = {}) => {
      const { tools = [], prefix = '', reasoningPrefix = '', templateArguments = {} } = options
      if (messages.some(({ role }) => !['system', 'user', 'assistant', 'tool'].includes(role))) {
        throw new HalfbyteError('unsupported', 'the toy template knows system, user and assistant')
      }
      const names = tools.map(({ name }) => `<tool ${name}>`).join('')
      const turns = messages.map(({ role, content, reasoning: thought, toolCalls = [] }) => {
        const calls = toolCalls.map((call) => `<call ${call.name}>`).join('')
        const before =
          reasoning === undefined || thought === undefined ? '' : reasoning.open + thought + reasoning.close
        return `<${role}>${before}${content}${calls}<end>`
      })
      const given = Object.entries(templateArguments).map(
        ([name, value]) => `<${name} ${JSON.stringify(value)}>`,
      )
      const prompt = `${names}${given.join('')}${turns.join('')}<assistant>${opens}`
      if (reasoning === undefined || reasoningPrefix === '') return prompt + prefix
      const [before, after] = marksAround(prompt, reasoning, prefix)
      return prompt + before + reasoningPrefix + after + prefix
    },
    newSequence: (options) => new Sequence(state, options),
    fingerprint: async () => options.fingerprint ?? 'toy',
    restoreSequence: (source, fingerprint, signal) => Sequence.restore(state, source, fingerprint, signal),
    memory: () => ({
      weightsBytes: 0,
      stateBytes: state.heldBytes,
      keptBytes: state.retainedBytes,
      arenaBytes: plan.arenaBytes,
      totalBytes: arena.memoryBytes,
    }),
    dispose() {
      scheduler.dispose()
      pool.dispose()
      isDisposed = true
    },
    rows: () => pool.rows,
    liveBytes: () => state.heldBytes,
    isDisposed: () => isDisposed,
  }
}

const bytes = new TextEncoder()

const toyText: ModelText = {
  endIds: new Set([END]),
  longestToken: '<end>'.length,
  encode: (text) =>
    text.split(/(<end>)/).flatMap((part) => (part === '<end>' ? [END] : [...bytes.encode(part)])),
  detokenizer() {
    const decoder = new TextDecoder()
    return {
      push: (id) => (id === OPENING ? 'You said ' : decoder.decode(Uint8Array.of(id), { stream: true })),
      flush: () => decoder.decode(),
    }
  },
  quote: (text) => text,
  tokenText: (id) => new TextDecoder().decode(toyText.tokenBytes(id)),
  tokenBytes: (id) =>
    id === OPENING ? bytes.encode('You said ') : id === END ? bytes.encode('<end>') : Uint8Array.of(id),
}

/** Each byte is a token. */
const toyTokens = {
  vocabSize: VOCAB,
  tokenBytes: (id: number) => toyText.tokenBytes(id),
  isSpecial: (id: number) => id === END,
  idOf: () => undefined,
  encode: (text: string) => toyText.encode(text, false),
}

class ToyPool implements Pool {
  readonly threads = 1
  readonly memory: WebAssembly.Memory
  rows = 0
  readonly #arena: Arena
  readonly #logits: Ptr
  /** The beginning of replies. */
  readonly #opening: readonly number[]
  #isDead = false

  constructor(arena: Arena, logits: Ptr, opening: readonly number[]) {
    this.#opening = opening
    this.memory = arena.memory
    this.#arena = arena
    this.#logits = logits
  }

  run(_plan: Ptr, step: Ptr): void {
    if (this.#isDead) throw new HalfbyteError('disposed', 'the toy has ended')
    const { u32, f32 } = this.#arena
    const field = (name: keyof typeof STEP) => u32[step / 4 + STEP[name]]!
    const list = (name: keyof typeof STEP, index: number) => u32[field(name) / 4 + index]!
    for (let row = 0; row < field('tokens'); row++) {
      const table = this.#tableOf(field('seqs'), list('sequence_of', row))
      u32[wordOf(u32, table, list('positions', row))] = list('ids', row)
      this.rows++
    }
    for (let index = 0; index < field('logit_count'); index++) {
      const row = list('logit_rows', index)
      const table = this.#tableOf(field('seqs'), list('sequence_of', row))
      const ids = Array.from({ length: list('positions', row) + 1 }, (_, at) => u32[wordOf(u32, table, at)]!)
      const out = this.#logits / 4 + index * VOCAB
      const said = ids.map((id) => String.fromCharCode(id)).join('')
      if (said.includes(DEAD_POOL)) {
        this.#isDead = true
        throw new HalfbyteError('internal', 'a thread of the toy died')
      }
      f32.fill(said.includes(NAN_LOGITS) ? Number.NaN : 0, out, out + VOCAB)
      f32[out + nextId(ids, this.#opening)]! += 50
    }
  }

  dispose(): void {
    this.#isDead = true
  }

  #tableOf(sequences: number, sequence: number): number {
    return this.#arena.u32[sequences / 4 + sequence * SEQUENCE_WORDS + SEQUENCE.tables]!
  }
}

/** The word that contains a position's id. */
function wordOf(u32: Uint32Array, table: number, position: number): number {
  const block = u32[table / 4 + Math.floor(position / ABI.BLOCK_POSITIONS)]!
  return block / 4 + (position % ABI.BLOCK_POSITIONS)
}

const USER = bytes.encode('<user>')
const TOOL = bytes.encode('<tool>')
const ASSISTANT = bytes.encode('<assistant>')

function nextId(ids: readonly number[], opening: readonly number[]): number {
  const start = lastIndexAfter(ids, ASSISTANT)
  const said = Math.max(lastIndexAfter(ids, USER), lastIndexAfter(ids, TOOL))
  if (start < 0 || said < 0) return (ids.at(-1)! + 1) % 256
  const answer = [...opening, ...ids.slice(said, ids.indexOf(END, said)), END]
  return answer[ids.length - start] ?? END
}

/** Index after the last occurrence of `part`, or -1. */
function lastIndexAfter(ids: readonly number[], part: Uint8Array): number {
  for (let at = ids.length - part.length; at >= 0; at--) {
    // Most positions differ in their first byte.
    if (ids[at] === part[0] && part.every((byte, index) => ids[at + index] === byte)) return at + part.length
  }
  return -1
}
