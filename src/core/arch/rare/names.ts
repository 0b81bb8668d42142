// The names of the families in table.ts, which errors list before these are loaded.

export const RARE = [
  'granite',
  'granitehybrid',
  'hyperclovax',
  'olmo',
  'olmo2',
  'olmoe',
  'vaultgemma',
  'internlm3',
  'exaone',
  'exaone4',
  'cohere',
  'cohere2',
  'glm',
  'glm4',
  'stablelm',
  'starcoder2',
  'phi2',
  'nemotron',
  'jais2',
  'arcee',
  'nanochat',
  'apertus',
  'persimmon',
  'seed_oss',
  'ernie4_5',
  'helium',
  'hunyuan',
  'gpt2',
  'gpt_neox',
  'mamba',
  'mamba2',
] as const
export type RareFamily = (typeof RARE)[number]

export const isRare = (family: string): family is RareFamily => (RARE as readonly string[]).includes(family)
