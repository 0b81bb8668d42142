// A tokenizer and sampling defaults under GGUF's keys, as read by src/core/formats/gguf/tokenizer-data.ts.

import type { GgufValue } from '../../../core/formats/gguf/gguf-writer.ts'
import { SAMPLING_NAMES } from '../../../core/formats/gguf/tokenizer-data.ts'
import type { MetaObject } from '../../../core/formats/json-files.ts'
import type { GgufTokenizerSpec } from '../../../core/text/spec.ts'

type Entry = readonly [string, GgufValue]

export function tokenizerValues(spec: GgufTokenizerSpec): Entry[] {
  const { scores, types, merges } = spec
  const entries: [string, GgufValue | undefined][] = [
    ['ggml.model', ['string', spec.model]],
    ['ggml.pre', text(spec.pre)],
    ['ggml.tokens', ['string[]', spec.tokens]],
    ['ggml.scores', scores && ['f32[]', scores]],
    ['ggml.token_type', types && ['i32[]', types]],
    ['ggml.merges', merges && ['string[]', merges]],
    ['ggml.bos_token_id', id(spec.bosId)],
    ['ggml.eos_token_id', id(spec.eosId)],
    ['ggml.eot_token_id', id(spec.eotId)],
    ['ggml.eom_token_id', id(spec.eomId)],
    ['ggml.unknown_token_id', id(spec.unknownId)],
    ['ggml.add_bos_token', fact(spec.addBos)],
    ['ggml.add_eos_token', fact(spec.addEos)],
    ['ggml.add_space_prefix', fact(spec.addSpacePrefix)],
    ['chat_template', text(spec.chatTemplate)],
    ['chat_template.tool_use', text(spec.toolTemplate)],
    ['chat_template.rag', text(spec.documentTemplate)],
  ]
  return entries.flatMap(([key, value]) =>
    value === undefined ? [] : [[`tokenizer.${key}`, value] as const],
  )
}

const text = (value: string | undefined): GgufValue | undefined =>
  value === undefined ? undefined : ['string', value]
const id = (value: number | undefined): GgufValue | undefined =>
  value === undefined ? undefined : ['u32', value]
const fact = (value: boolean | undefined): GgufValue | undefined =>
  value === undefined ? undefined : ['bool', value]

/** Counts are integers there. */
const COUNTS: readonly string[] = ['top_k', 'penalty_last_n', 'mirostat']

export function samplingValues(generation: MetaObject = {}): Entry[] {
  return Object.entries(SAMPLING_NAMES).flatMap(([key, name]): Entry[] => {
    const value = generation[name]
    if (typeof value !== 'number') return []
    return [[`general.sampling.${key}`, [COUNTS.includes(key) ? 'i32' : 'f32', value]]]
  })
}
