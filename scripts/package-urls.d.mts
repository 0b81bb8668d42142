import type { Plugin } from 'vite'

export const packageUrls: () => Plugin
