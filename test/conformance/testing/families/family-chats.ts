// How the instruct models of each family call tools and mark thoughts, for the table in docs/guide/models.md.
// Includes only families with a published template in ../../templates or a mention in the guide.
import type { Family } from '../../../../src/core/arch/config/config.ts'
import type { CallForm } from '../../../../src/core/base/calls/marks.ts'

/** A call of `f` with `{"a": 1}` in each form without an opening mark. */
export const UNMARKED = {
  bare: 'f\n{"a": 1}',
  fence: '```tool_code\nf(a=1)\n```',
  channel: '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>',
} as const

export type ToolForm = CallForm | keyof typeof UNMARKED

interface FamilyChat {
  /** By form, the models that use it, as named in docs/guide/tools.md. */
  readonly tools?: Readonly<Partial<Record<ToolForm, string>>>
  /** By opening mark of a thought, the models that use it, as named in docs/guide/templates.md. */
  readonly thoughts?: Readonly<Record<string, string>>
}

const THINK = '<think>'

export const FAMILY_CHATS: Readonly<Partial<Record<Family, FamilyChat>>> = {
  apertus: { tools: { apertus: 'Apertus' }, thoughts: { '<|inner_prefix|>': 'Apertus' } },
  cohere: { tools: { action: 'Command R' } },
  cohere2: { tools: { command: 'Command R7B' }, thoughts: { '<|START_THINKING|>': 'Command A and R7B' } },
  deepseek2: { tools: { deepseek: 'DeepSeek' }, thoughts: { [THINK]: 'DeepSeek' } },
  exaone: { thoughts: { '<thought>': 'EXAONE Deep' } },
  gemma3: { tools: { fence: 'Gemma 3', gemma: 'FunctionGemma' } },
  gemma4: { tools: { gemma4: 'Gemma 4' }, thoughts: { '<|channel>thought': 'Gemma 4' } },
  glm: { tools: { bare: 'GLM-4' } },
  glm4: { tools: { bare: 'GLM-4' } },
  gpt_oss: { tools: { channel: 'gpt-oss' }, thoughts: { '<|channel|>analysis<|message|>': 'gpt-oss' } },
  granite: {
    tools: { phi4mini: 'Granite 3' },
    thoughts: { [THINK]: 'Granite 3.3', 'Here is my thought process:': 'Granite 3.2' },
  },
  granitehybrid: { tools: { hermes: 'Granite 4' } },
  granitemoe: { tools: { phi4mini: 'Granite 3' } },
  hunyuan: { tools: { list: 'Hunyuan' }, thoughts: { [THINK]: 'Hunyuan' } },
  hyperclovax: { tools: { clova: 'HyperCLOVA X' } },
  jamba: { tools: { list: 'Jamba' } },
  lfm2: { tools: { lfm2: 'LFM2' } },
  lfm2moe: { tools: { lfm2: 'LFM2' } },
  llama: {
    tools: { llama: 'Llama 3', function: 'Llama 3.1', mistral: 'Mistral', hermes: 'Hermes' },
    // The DeepSeek models are R1's distills.
    thoughts: { '[THINK]': 'Magistral', [THINK]: 'DeepSeek' },
  },
  minicpm3: { tools: { lfm2: 'MiniCPM 3' }, thoughts: { '<|thought_start|>': 'MiniCPM 3' } },
  mistral3: { tools: { mistral: 'Mistral' }, thoughts: { '[THINK]': 'Ministral 3' } },
  nemotron: { tools: { toolcall: 'Nemotron Mini' } },
  nemotron_h: { tools: { nemotron: 'Nemotron' } },
  olmo2: { tools: { olmo3: 'OLMo 3' } },
  phi3: { tools: { phi4mini: 'Phi-4-mini', phi4: 'Phi-4' } },
  qwen2: {
    tools: { hermes: 'Qwen 2.5', tools: 'small models of Qwen 2.5' },
    thoughts: { [THINK]: 'DeepSeek' },
  },
  qwen3: { tools: { hermes: 'Qwen 2.5 and 3' }, thoughts: { [THINK]: 'Qwen3' } },
  qwen3moe: { tools: { hermes: 'Qwen3-Coder' }, thoughts: { [THINK]: 'Qwen3' } },
  seed_oss: { tools: { seed: 'Seed-OSS' }, thoughts: { '<seed:think>': 'Seed-OSS' } },
  smollm3: { tools: { hermes: 'SmolLM' }, thoughts: { [THINK]: 'SmolLM3' } },
}

/** The family of each published template's model; undefined if none supports it. */
export const TEMPLATE_FAMILIES: Readonly<Record<string, Family | undefined>> = {
  'Apertus-8B-Instruct': 'apertus',
  'ByteDance-Seed-OSS': 'seed_oss',
  'GLM-4.6': undefined,
  'HuggingFaceTB-SmolLM3-3B': 'smollm3',
  'Mistral-Small-3.2-24B-Instruct-2506': 'llama',
  'Qwen-Qwen2.5-7B-Instruct': 'qwen2',
  'Qwen-Qwen3-0.6B': 'qwen3',
  'Qwen3-Coder': 'qwen3moe',
  'ServiceNow-AI-Apriel-1.6-15b-Thinker': undefined,
  'allenai-Olmo-3-7B-Instruct': 'olmo2',
  'deepseek-ai-DeepSeek-R1-Distill-Qwen-32B': 'qwen2',
  'deepseek-ai-DeepSeek-V3.1': 'deepseek2',
  'deepseek-ai-DeepSeek-V3.2': undefined,
  'ibm-granite-granite-3.3-2B-Instruct': 'granite',
  'ibm-granite-granite-4.0': 'granitehybrid',
  'internlm-Intern-S1-mini': undefined,
  'microsoft-Phi-3.5-mini-instruct': 'phi3',
  'mistralai-Ministral-3-14B-Reasoning-2512': 'mistral3',
  'mistralai-Mistral-Nemo-Instruct-2407': 'llama',
  'openai-gpt-oss-120b': 'gpt_oss',
  'zai-org-GLM-4-9B-0414': 'glm4',
}
