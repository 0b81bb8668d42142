export type RuntimeName = 'bun' | 'deno'

export const RUNTIMES: Readonly<Record<RuntimeName, { readonly version: string }>>
export const runtimeCommand: (name: RuntimeName) => readonly [string, ...string[]] | undefined
export const fetchRuntime: (name: RuntimeName) => boolean
