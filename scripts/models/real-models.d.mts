export declare const MODELS: string
export type RealModelName =
  | 'smollm2'
  | 'gemma3-270m'
  | 'qwen2.5-coder-0.5b'
  | 'qwen2.5-coder-1.5b'
  | 'tinyllama'
  | 'minimind2'
  | 'minilm'
export declare const REAL_MODELS: Readonly<
  Record<
    RealModelName,
    { readonly title: string; readonly folder: string; readonly file: string; readonly sizeBytes: number }
  >
>
export declare function realModel(name: RealModelName): string | undefined
export declare function requireModel(name: RealModelName): string
