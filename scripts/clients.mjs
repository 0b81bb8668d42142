// In: e2e/clients and a built dist. Out: its clients, installed, and the runs of its tests.
//
// npm run test:clients -- -g "AI SDK" runs those whose title has the words. They are no part of npm test: the
// clients are many packages.
import { testInstalled } from './installed-tests.mjs'

testInstalled('e2e/clients')
