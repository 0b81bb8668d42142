// In: e2e/bundlers and a built dist. Out: its bundlers, installed, and the runs of its tests.
//
// npm run test:bundlers -- -g "Next.js" runs those whose title has the words; -g "the example" runs the
// projects of examples/. They are no part of npm test: the bundlers take 600 MB, and the runs some minutes.
import { testInstalled } from './installed-tests.mjs'

testInstalled('e2e/bundlers')
