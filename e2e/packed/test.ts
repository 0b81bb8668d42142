// The test fixture with the packed package, which each worker unpacks once.
import { test } from '@playwright/test'
import { type PackedApp, packedApp } from './app.ts'

export const packedTest = test.extend<object, { packed: PackedApp }>({
  packed: [
    async ({ browserName: _ }, use) => {
      const packed = await packedApp()
      await use(packed)
      await packed.remove()
    },
    { scope: 'worker' },
  ],
})
