//go:build race

package cli_test

// underRace says whether the race detector watches. What repeats code that it has
// seen already is repeated less often then: everything takes six times as long.
const underRace = true
