// Installs the bundlers of e2e/bundlers and runs its tests on a built dist.
//
// npm run test:bundlers -- -g "Next.js" runs the tests whose title contains these words; -g "the example"
// runs the projects of examples/. npm test does not run them, because the bundlers take 600 MB and the runs
// some minutes.
import { testInstalled } from './installed-tests.mjs'

testInstalled('e2e/bundlers')
