import type { Plugin } from 'vite'

export const packageUrls: (options?: { readonly alone?: boolean }) => Plugin
