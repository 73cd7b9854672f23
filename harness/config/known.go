package config

import (
	"time"

	"assay/backends"
	"assay/harness/study"
)

// Known is what names exist besides those that a bench.yaml defines.
type Known struct {
	Studies  []study.Definition
	Phantoms []string // readers that a phantom backend can play
	// Protocols are the kinds of servers that a phantom backend can speak as.
	Protocols []string
}

// What is assumed when bench.yaml does not say.
const (
	defaultSeed           = 1
	defaultTemperature    = 0.1 // as in M3CoTBench
	defaultMaxTokens      = 1024
	defaultJudgeMaxTokens = 800
	defaultSamplingSeed   = 1
	defaultInFlight       = 4
	defaultRetries        = 2
	defaultRepeats        = 2
	defaultRepeatShare    = 0.05
	defaultBackoff        = time.Second
)

func defaultTimeouts() backends.Timeouts {
	return backends.Timeouts{Connect: 5 * time.Second, FirstContent: 120 * time.Second, Stall: 30 * time.Second, Total: 300 * time.Second, Busy: 5 * time.Minute}
}
