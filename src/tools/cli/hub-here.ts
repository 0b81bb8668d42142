// The hub that this process uses, from its environment.
import type { Hub } from '../../core/store/hub.ts'

export const isUrl = (place: string): boolean => /^https?:\/\//i.test(place)

/** The hub's address and token. */
export const hubHere = (): Hub => ({ baseUrl: process.env['HF_ENDPOINT'], token: process.env['HF_TOKEN'] })
