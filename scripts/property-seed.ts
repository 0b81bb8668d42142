// In: HALFBYTE_SEED, if set. Out: the same random cases in every run of the property tests, or others.
//
// A run that fails must fail again. To look for new cases, give other seeds: HALFBYTE_SEED=$RANDOM npm run test:unit.
import fc from 'fast-check'

fc.configureGlobal({ seed: Number(process.env['HALFBYTE_SEED'] ?? 20261121) })
