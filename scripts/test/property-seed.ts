// The seed of the property tests: HALFBYTE_SEED if set. Without it, every run uses the same random cases.
//
// That makes a failing run reproducible. To look for new cases, use other seeds: HALFBYTE_SEED=$RANDOM npm
// run test:unit.
import fc from 'fast-check'

fc.configureGlobal({ seed: Number(process.env['HALFBYTE_SEED'] ?? 20261121) })
