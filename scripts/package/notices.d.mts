import type { Plugin } from 'vite'

export const packageFolder: (id: string) => string | undefined
export const recordPackages: (name: string) => Plugin
export const forgetPackages: () => void
export const writeNotices: (path: string) => void
