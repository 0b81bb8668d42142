// The catalogue of small open models on the hub, with address, size, licence and use. docs/guide/models.md
// says how each address was checked.
import { parseHubAddress } from './hub.ts'

export interface CatalogueModel {
  /** Short name for the command line. */
  readonly id: string
  /** Display name. */
  readonly title: string
  /** `owner/name[:file]@revision`; the revision is a commit, so the files cannot change. */
  readonly address: string
  /** Bytes of all files that are downloaded. */
  readonly sizeBytes: number
  /** Hexadecimal hash of the weight file, as published by a third party. */
  readonly sha256: string
  readonly licence: string
  /** Tokens the model was trained for. */
  readonly contextLength: number
  /** `granitehybrid` and the like, as named in GGUF files. */
  readonly architecture: string
  /** One or two sentences that help a user choose. */
  readonly about: string
  /** Present for a base model, which was not trained to chat. */
  readonly isBase?: true
  /**
   * The dtype of the file with which this model was loaded, answered, and was compared with llama.cpp
   * (lab/measurements/real-models.md). It may differ from the dtype of `address`.
   */
  readonly checked?: string
}

/** Smallest download first. */
export const CATALOGUE: readonly CatalogueModel[] = [
  {
    id: 'smollm2-135m',
    title: 'SmolLM2 135M',
    address:
      'unsloth/SmolLM2-135M-Instruct-GGUF:SmolLM2-135M-Instruct-Q8_0.gguf@9e6855bc4be717fca1ef21360a1db4b29d5c559a',
    sizeBytes: 144_811_072,
    sha256: 'c4a3dd037301b6ecea31d6da37f5cd793ead920dd5ddfe6d589294628d6ce66a',
    licence: 'Apache-2.0',
    contextLength: 8192,
    architecture: 'llama',
    about: 'English small talk and rewording on any device. Gets facts wrong.',
    checked: 'Q4_1',
  },
  {
    id: 'granite-4.0-h-350m',
    title: 'Granite 4.0 H 350M',
    address:
      'ibm-granite/granite-4.0-h-350m-GGUF:granite-4.0-h-350m-Q4_K_M.gguf@a864f823cce6e6048b5752e2816fe7a23987d790',
    sizeBytes: 222_662_560,
    sha256: '0a8d6a7373602fadfba274a640ba784b86cc6847f1c67f1b0a90fa2ec266b7fb',
    licence: 'Apache-2.0',
    contextLength: 32_768,
    architecture: 'granitehybrid',
    about: 'Mamba-2 layers with a few attention layers: long conversations take little memory. Calls tools.',
  },
  {
    id: 'lfm2-350m',
    title: 'LFM2 350M',
    address: 'LiquidAI/LFM2-350M-GGUF:LFM2-350M-Q4_K_M.gguf@8fdc9d526b7ed346b19257551b05816c7912ecc2',
    sizeBytes: 229_309_376,
    sha256: 'a4d000c7064bd3b2e42c6845836286a899a4e79cf1791da1a6797b58d575957d',
    licence: 'LFM Open License 1.0',
    contextLength: 32_768,
    architecture: 'lfm2',
    about: 'Fast on phones, in eight languages. Good at extracting and summarising.',
  },
  {
    id: 'gemma-3-270m',
    title: 'Gemma 3 270M',
    address:
      'ggml-org/gemma-3-270m-it-GGUF:gemma-3-270m-it-Q8_0.gguf@e7647be17ae1108f2f605ed061ca0608b171afff',
    sizeBytes: 291_545_600,
    sha256: '0ef57d2c838458a1952664260dcba38e5bdda37494f3af732f06e4add24068e3',
    licence: 'Gemma Terms of Use',
    contextLength: 32_768,
    architecture: 'gemma3',
    about: 'Follows short instructions in many languages. Made to be fine-tuned for one task.',
  },
  {
    id: 'smollm2-360m',
    title: 'SmolLM2 360M',
    address:
      'HuggingFaceTB/SmolLM2-360M-Instruct-GGUF:smollm2-360m-instruct-q8_0.gguf@593b5a2e04c8f3e4ee880263f93e0bd2901ad47f',
    sizeBytes: 386_404_992,
    sha256: '48ab3034d0dd401fbc721eb1df3217902fee7dab9078992d66431f09b7750201',
    licence: 'Apache-2.0',
    contextLength: 8192,
    architecture: 'llama',
    about: 'English conversation, short summaries and rewriting.',
  },
  {
    id: 'lfm2-700m',
    title: 'LFM2 700M',
    address: 'LiquidAI/LFM2-700M-GGUF:LFM2-700M-Q4_K_M.gguf@fd39e80d7a5ac61494ffff577e61bbbfddbd0d02',
    sizeBytes: 468_624_320,
    sha256: '684e8406dc13321452b3f6aeca432776e2a6a7e1ad6c23f7887b8fe3efbe2efa',
    licence: 'LFM Open License 1.0',
    contextLength: 32_768,
    architecture: 'lfm2',
    about: 'Everyday writing and questions in eight languages, fast for its size.',
  },
  {
    id: 'qwen2.5-0.5b',
    title: 'Qwen2.5 0.5B',
    address:
      'Qwen/Qwen2.5-0.5B-Instruct-GGUF:qwen2.5-0.5b-instruct-q4_k_m.gguf@9217f5db79a29953eb74d5343926648285ec7e67',
    sizeBytes: 491_400_032,
    sha256: '74a4da8c9fdbcd15bd1f6d01d621410d31c6fc00986f5eb687824e7b93d7a9db',
    licence: 'Apache-2.0',
    contextLength: 32_768,
    architecture: 'qwen2',
    about: 'Answers in 29 languages, writes JSON and a little code.',
  },
  {
    id: 'mamba-130m',
    title: 'Mamba 130M',
    address: 'state-spaces/mamba-130m-hf@1e76775f628fbf1350fbe4dbb3d971ba64af25a1',
    // The hub's listing rounds the 517 MB of weights and 2.1 MB of tokenizer.
    sizeBytes: 519_000_000,
    sha256: '1a5ed29c492ef4d485df3b7c2c8109771696589855b2162ad1ba618b6067cbea',
    licence: 'Apache-2.0',
    contextLength: 2048,
    architecture: 'mamba',
    about: 'Continues English text and never runs out of memory. It was not trained to chat.',
    isBase: true,
  },
  {
    id: 'qwen3-0.6b',
    title: 'Qwen3 0.6B',
    address: 'Qwen/Qwen3-0.6B-GGUF:Qwen3-0.6B-Q8_0.gguf@23749fefcc72300e3a2ad315e1317431b06b590a',
    sizeBytes: 639_446_688,
    sha256: '9465e63a22add5354d9bb4b99e90117043c7124007664907259bd16d043bb031',
    licence: 'Apache-2.0',
    contextLength: 40_960,
    architecture: 'qwen3',
    about: 'Thinks before it answers: good at sums, logic and tools, in many languages.',
  },
  {
    id: 'gemma-3-1b',
    title: 'Gemma 3 1B',
    address: 'ggml-org/gemma-3-1b-it-GGUF:gemma-3-1b-it-Q4_K_M.gguf@f9c28bcd85737ffc5aef028638d3341d49869c27',
    sizeBytes: 806_058_240,
    sha256: '8ccc5cd1f1b3602548715ae25a66ed73fd5dc68a210412eea643eb20eb75a135',
    licence: 'Gemma Terms of Use',
    contextLength: 32_768,
    architecture: 'gemma3',
    about: 'Writes well for its size, mainly in English.',
  },
  {
    id: 'llama-3.2-1b',
    title: 'Llama 3.2 1B',
    address:
      'bartowski/Llama-3.2-1B-Instruct-GGUF:Llama-3.2-1B-Instruct-Q4_K_M.gguf@067b946cf014b7c697f3654f621d577a3e3afd1c',
    sizeBytes: 807_694_464,
    sha256: '6f85a640a97cf2bf5b8e764087b1e83da0fdb51d7c9fab7d0fece9385611df83',
    licence: 'Llama 3.2 Community License',
    contextLength: 131_072,
    architecture: 'llama',
    about: 'Conversation, summaries and rewriting in eight languages.',
  },
]

/**
 * The model in the catalogue with this id, address, or repository without a file and a revision; undefined if
 * there is none.
 */
export function catalogued(text: string): CatalogueModel | undefined {
  const named = CATALOGUE.find(({ id, address }) => text === id || text === address)
  if (named !== undefined) return named
  const asked = repositoryOf(text)
  return asked === undefined
    ? undefined
    : CATALOGUE.find(({ address }) => parseHubAddress(address)?.repo.toLowerCase() === asked.toLowerCase())
}

/** The repository, if the address names only a repository. */
function repositoryOf(text: string): string | undefined {
  const [, repo] = /^(?:hf:)?([\w.-]+\/[\w.-]+)$/.exec(text) ?? []
  return repo
}
