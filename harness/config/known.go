package config

import (
	"slices"
	"time"

	"assay/backends"
	"assay/perturb"
)

// Known is what names exist besides those that a bench.yaml defines.
type Known struct {
	Studies  []StudyKind
	Kinds    []ServerKind
	Phantoms []string // readers that a phantom backend can play
	// Protocols are the kinds of servers that a phantom backend can speak as.
	Protocols []string
	Judges    []JudgeKind
}

// judge is a kind of judge by name.
func (k Known) judge(name string) JudgeKind {
	i := slices.IndexFunc(k.Judges, func(j JudgeKind) bool { return j.Name == name })
	if i < 0 {
		return JudgeKind{}
	}
	return k.Judges[i]
}

// StudyKind is what can be asked of a study.
type StudyKind struct {
	Name    string
	Arms    []string // in the order of tables, as Rubrics
	Rubrics []string
	Prompts []string // templates that a file can replace
	// Unread is the rubric under which judges are asked that have reads: unread, beside Rubrics;
	// "": none.
	Unread string
	// Knowing are the rubrics that compare an answer with a knowledge base.
	Knowing []string
	// Needs are, by rubric, those on whose verdicts it rests, as the rubrics say it.
	Needs map[string][]string
	// Measured are the rubrics under which nobody is asked who is not named: they take
	// numbers that are made elsewhere.
	Measured []string
	// Conditions are what the study itself can change, and Any, which are asked for by name, what
	// any study can; none: it changes nothing.
	Conditions, Any []perturb.Condition
	// Loads says that it can ask the same at several levels of requests in flight, and
	// FewShot that it can show examples before a question.
	Loads, FewShot bool
}

// ServerKind is a kind of server.
type ServerKind struct {
	Name  string
	Omits []string // fields of requests that may be left out; nil: none
}

// JudgeKind is a kind of judge.
type JudgeKind struct {
	Name string
	Keys []JudgeKey
	Asks bool // it asks a model
}

// JudgeKey is a key that a kind of judge has of its own.
type JudgeKey struct {
	Name   string
	Need   bool
	File   bool     // the path of a file, which is read
	Values []string // what it may say; nil: anything
}

// judgeHosted is the kind of a model behind a hosted API.
const judgeHosted = "hosted"

// What is assumed when bench.yaml does not say.
const (
	defaultSeed           = 1
	defaultTemperature    = 0.1 // as in M3CoTBench
	defaultMaxTokens      = 1024
	defaultJudgeMaxTokens = 800
	defaultInFlight       = 4
	defaultRetries        = 2
	// DefaultShuffles is how many orders of options are drawn where nobody says.
	DefaultShuffles    = 3
	defaultRepeats     = 2
	defaultRepeatShare = 0.05
)

func defaultSamplingSeed() *int64 { one := int64(1); return &one }

func defaultTimeouts() backends.Timeouts {
	return backends.Timeouts{Connect: 5 * time.Second, FirstContent: 120 * time.Second, Stall: 30 * time.Second, Total: 300 * time.Second, Busy: 5 * time.Minute}
}
