// The names of the families in table.ts, which errors list before these are loaded.

export const RARE = [
  'granite',
  'granitehybrid',
  'olmo2',
  'olmoe',
  'gpt2',
  'gpt_neox',
  'mamba',
  'mamba2',
] as const
export type RareFamily = (typeof RARE)[number]
