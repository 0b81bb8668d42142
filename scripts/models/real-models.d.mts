// In: nothing. Out: the types of real-models.mjs.
export declare const MODELS: string
export declare const REAL_MODELS: Readonly<
  Record<
    'tinyllama' | 'minimind2',
    { readonly title: string; readonly folder: string; readonly file: string; readonly sizeBytes: number }
  >
>
export declare function realModel(name: 'tinyllama' | 'minimind2'): string | undefined
