// The table of all families, by name.
import { HalfbyteError } from '../base/errors.ts'
import { shown } from '../formats/malformed.ts'
import type { Graph } from '../graph/nodes.ts'
import { headNormsOf, type Mixer } from './blocks/parts.ts'
import type { Family, ModelConfig } from './config/config.ts'
import { decoder } from './decoder.ts'
import { apertus } from './families/apertus.ts'
import { cohere, cohere2 } from './families/cohere.ts'
import { exaone, exaone4 } from './families/exaone.ts'
import { deepseek2, minicpm3 } from './families/experts/deepseek.ts'
import { ernie45moe } from './families/experts/ernie.ts'
import { gptOss } from './families/experts/gpt-oss.ts'
import { phimoe } from './families/experts/phimoe.ts'
import { gemma, gemma2, gemma3, vaultgemma } from './families/gemma.ts'
import { glm, glm4 } from './families/glm.ts'
import { gptNeox, persimmon } from './families/gpt-neox.ts'
import { gpt2 } from './families/gpt2.ts'
import { granite, granitehybrid, granitemoe, hyperclovax } from './families/granite.ts'
import { lfm2, lfm2moe } from './families/lfm2.ts'
import { internlm3, llama, mistral3, smollm3 } from './families/llama.ts'
import { mamba2Layer, mambaLayer } from './families/mamba.ts'
import { modernbertDecoder } from './families/modernbert-decoder.ts'
import { ernie, helium, hunyuan, seedOss } from './families/near-llama.ts'
import { olmo, olmo2, olmoe } from './families/olmo.ts'
import { phi2 } from './families/phi2.ts'
import { phi3 } from './families/phi3.ts'
import { qwen2, qwen2moe, qwen2vl, qwen3, qwen3moe } from './families/qwen.ts'
import { arcee, jais2, nanochat, nemotron } from './families/relu-squared.ts'
import { stablelm } from './families/stablelm.ts'
import { starcoder2 } from './families/starcoder2.ts'
import type { FamilyFile } from './family.ts'

/**
 * A family with only recurrent layers. Its tensors are in recurrent-names.ts, its keys in
 * recurrent-config.ts.
 */
const recurrent = (mix: Mixer, architecture: string, classes: FamilyFile['hf']['classes']): FamilyFile => ({
  build: (config) => decoder(config, undefined, mix),
  gguf: { architecture, pairing: 'interleaved' },
  hf: { classes },
})

/** All families by name, each built by its file. */
const FILES: Readonly<Record<Family, FamilyFile>> = {
  llama,
  qwen2,
  qwen2vl,
  qwen3,
  qwen3moe,
  gemma2,
  gemma3,
  phi3,
  smollm3,
  granite,
  olmo2,
  olmoe,
  gpt2,
  lfm2,
  granitehybrid,
  qwen2moe,
  granitemoe,
  lfm2moe,
  ernie4_5_moe: ernie45moe,
  deepseek2,
  minicpm3,
  gpt_oss: gptOss,
  phimoe,
  gpt_neox: gptNeox,
  gemma,
  vaultgemma,
  mistral3,
  internlm3,
  exaone,
  exaone4,
  cohere,
  cohere2,
  glm,
  glm4,
  stablelm,
  starcoder2,
  phi2,
  olmo,
  nemotron,
  jais2,
  arcee,
  nanochat,
  apertus,
  persimmon,
  seed_oss: seedOss,
  ernie4_5: ernie,
  helium,
  hunyuan,
  hyperclovax,
  modernbert_decoder: modernbertDecoder,
  mamba: recurrent(mambaLayer, 'mamba', {
    MambaForCausalLM: {
      vocab_size: 50_280,
      hidden_size: 768,
      num_hidden_layers: 32,
      tie_word_embeddings: true,
    },
  }),
  mamba2: recurrent(mamba2Layer, 'mamba2', {
    Mamba2ForCausalLM: { vocab_size: 32_768, hidden_size: 4096, num_hidden_layers: 64 },
  }),
}

export const FAMILIES: readonly Family[] = Object.keys(FILES)

/** Throws `internal` for an unknown name, which no reader would have accepted. */
export function familyFile(family: Family): FamilyFile {
  const file = FILES[family]
  if (file === undefined) throw new HalfbyteError('internal', `there is no family ${family}`)
  return file
}

/** Whether keys are normalised after their rotation. */
export function normsRotated(config: ModelConfig): boolean {
  const { traits } = familyFile(config.family)
  return traits !== undefined && headNormsOf(config, traits) === 'rotated'
}

/** The first family that `matches` accepts. */
export function findFamily(matches: (file: FamilyFile) => boolean): Family | undefined {
  return FAMILIES.find((family) => matches(familyFile(family)))
}

/** The graph of one step of the model, before any pass. */
export function buildGraph(config: ModelConfig): Graph {
  return familyFile(config.family).build(config)
}

/** Another architecture. */
export function unknownArchitecture(file: string, architecture: string): HalfbyteError {
  return new HalfbyteError(
    'architecture',
    `${file}: the architecture ${shown(architecture)} is not supported; choose a model of one that is: ` +
      `${FAMILIES.join(', ')} (Mistral counts as llama)`,
    { architecture, supported: FAMILIES },
  )
}
