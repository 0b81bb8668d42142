// Installs the clients of e2e/clients and runs its tests on a built dist.
//
// npm run test:clients -- -g "AI SDK" runs the tests whose title contains the words. They are not part of npm
// test, because the clients are many packages.
import { testInstalled } from './installed-tests.mjs'

testInstalled('e2e/clients')
