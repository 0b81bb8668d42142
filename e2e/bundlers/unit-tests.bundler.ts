// Unit tests of an app. In: the packed package under Vitest and Jest, with jsdom and happy-dom. Out: whether
// the widget and the fake engine of `halfbyte/testing` run there.
import { test } from '@playwright/test'
import { packedApp } from '../packed/app.ts'
import { appFolder, runBundler } from './app-folder.ts'

const VITEST = ['../../node_modules/vitest/vitest.mjs', 'run', '--environment']
const RUNNERS = {
  'Vitest with jsdom': [...VITEST, 'jsdom'],
  'Vitest with happy-dom': [...VITEST, 'happy-dom'],
  'Jest with jsdom': [
    '--experimental-vm-modules',
    '../../node_modules/jest/bin/jest.js',
    '--env',
    'jest-fixed-jsdom',
  ],
}

for (const [name, args] of Object.entries(RUNNERS)) {
  test(`an app's unit tests pass under ${name}`, async () => {
    const packed = await packedApp()
    try {
      await runBundler(await appFolder(name, 'unit-tests', packed), args)
    } finally {
      await packed.remove()
    }
  })
}
