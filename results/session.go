package results

import (
	"encoding/json"
	"time"

	"assay/timing"
)

// Place says where a model's server is, as telemetry of this machine sees it.
type Place string

const (
	PlaceLocal   Place = "local"
	PlaceRemote  Place = "remote"  // its devices cannot be watched from here
	PlacePhantom Place = "phantom" // only phantom devices work for it
)

// Session is one call of run on one clock, with what was watched.
type Session struct {
	ID       int64 // given by PutSession
	Origin   time.Time
	Hz       int              // samples per second; 0: nothing was watched
	Problems []string         // what was not measured, and why
	Places   map[string]Place // by model
	Holds    map[string]Hold  // by model; none: not known of it
	Measured bool             // PutUses was called for it
	// Linked says that attempts name this session; false: it is an older one, and
	// wall time tells whose they are.
	Linked  bool
	Clocks  *Clocks // nil: it did not end in order, or the machine does not show them
	Devices []Watched
	Host    *Host // nil: an older assay did not keep it
}

// Hold is which GPUs work for a model in a session. Others never count for it.
type Hold struct {
	Known   bool     `json:"known"`             // which they are
	GPUs    []string `json:"gpus,omitempty"`    // IDs of devices; Known and none: no GPU works for it
	Assumed bool     `json:"assumed,omitempty"` // neither its server's processes nor bench.yaml tell
	How     string   `json:"how"`               // what tells, or why nothing does
	// Foreign are processes of others that were seen on these GPUs, by name and number.
	Foreign []string        `json:"foreign,omitempty"`
	Rest    map[string]Rest `json:"rest,omitempty"` // by ID of a device
}

// Rest is what a device draws while a model's block begins and nothing is asked.
type Rest struct {
	Loaded   *timing.Baseline `json:"loaded,omitempty"`   // the model is in memory; nil: not known
	Unloaded *timing.Baseline `json:"unloaded,omitempty"` // it is not; nil: not known
}

// Throttled is the share of a model's time on the wire, 0 to 1, in which its GPUs ran
// slower than they could, by reason. A power limit is ordinary work; the others
// but Other take a time away.
type Throttled struct {
	Of       time.Duration `json:"of_ns"` // time that is known of, over all GPUs; > 0
	Power    float64       `json:"power"`
	Thermal  float64       `json:"thermal"`
	Hardware float64       `json:"hardware"` // slowdown from outside, or power brake
	Other    float64       `json:"other"`    // the device does not say why
}

// Clocks is what the machine's other clocks did beside a session's, from its begin
// to its end.
type Clocks struct {
	Span  time.Duration `json:"span_ns"`  // on the session's clock, which stands still while the machine sleeps
	Slept time.Duration `json:"slept_ns"` // by CLOCK_BOOTTIME
	// Slew is how much faster the session's clock ran than the hardware's, in parts
	// per million: below 0, slower; nil: the session was too short to tell.
	Slew *float64 `json:"slew_ppm,omitempty"`
}

// Watched is a device under watch.
type Watched struct {
	Source, ID, Name, Kind string
	Synthetic              bool
	About                  json.RawMessage  // as its probe describes it
	Baseline               *timing.Baseline // at rest; nil: not known
	Stats                  *WatchStats      // nil: the session did not end in order
}

// WatchStats is what watching one device took.
type WatchStats struct {
	Samples  int           `json:"samples"`
	Failed   int           `json:"failed"` // reads
	Gaps     int           `json:"gaps"`
	Span     time.Duration `json:"span_ns"` // from the first to the last sample
	Total    time.Duration `json:"total_ns"`
	Longest  time.Duration `json:"longest_ns"`
	Failures []string      `json:"failures,omitempty"` // each kind once
}

// SampleBundle is a stretch of packed samples.
type SampleBundle struct {
	From, To time.Duration
	N        int
	Bytes    []byte
}

// Flight is when one attempt at a trial was on the wire.
type Flight struct {
	Trial    int64 // its number in this store
	Key      Key
	Attempts int  // of the trial
	Last     bool // the attempt that counts
	Failed   bool
	Started  time.Time // wall time
	Flags    []Flag
	Turns    []timing.Window // from Start to LastContent, on the session's clock
	Whole    bool            // every turn has both
	Tokens   *int            // of the trial's answer; nil: the server does not count
	Stamps   timing.Stamps   // of its chunks: the kernel's if all turns have those; "": no chunks
	Chunks   []timing.Chunk  // of all turns
}

// Part is a group of devices whose energy is added up.
type Part string

const (
	PartGPU Part = "gpu"
	PartCPU Part = "cpu" // processor packages and their memory
	// PartMachine is the whole machine, by a meter in front of it; of blocks, not of trials.
	PartMachine Part = "machine"
)

// Use is what one trial took of a part.
type Use struct {
	// Held is the trial's share of the time in which the devices worked: its
	// latency T, or less where trials ran together; nil: not known.
	Held    *time.Duration
	Devices *int // how many worked; nil: not known
	// Energy is of all of them together; with Unknown set, its figures say nothing.
	timing.Energy
}

// TrialUse is a trial's use of a part.
type TrialUse struct {
	Trial    int64
	Attempts int // of the trial, when it was measured
	Part     Part
	Use
}

// Block is the use of a part by one model's trials of a study in one session.
type Block struct {
	Session      int64        `json:"-"`
	Study, Model string       `json:"-"`
	Part         Part         `json:"-"`
	Devices      *int         `json:"-"`
	Energy       timing.Block `json:"energy"`
	// Busy is the energy of the trials alone, with the devices at rest between
	// them; nil: not known.
	Busy *timing.Millijoules `json:"busy_mj,omitempty"`
	// Throttled is of its GPUs, with PartGPU; nil: not known.
	Throttled *Throttled `json:"throttled,omitempty"`
	// Answers is the energy of all requests as measured one by one, before they
	// are scaled to Busy; nil: one of them is not known. Busy - Answers is what was
	// drawn above rest between requests, as in the decay after one.
	Answers *timing.Millijoules `json:"answers_mj,omitempty"`
	// Arrivals are of the trials' chunks, with PartGPU; nil: not known.
	Arrivals *Arrivals `json:"arrivals,omitempty"`
	// Output is what its server wrote, with PartGPU; nil: of an assay that did not keep it.
	Output *timing.Throughput `json:"output,omitempty"`
	// Loads are the levels of a load sweep that ran in the session, with PartGPU.
	Loads []Load `json:"loads,omitempty"`
}

// Load is the answers of a block that were given with the same number of requests in
// flight.
type Load struct {
	Arm       string  `json:"arm"`
	Condition string  `json:"condition"` // under which the level was planned
	InFlight  int     `json:"in_flight"` // asked for
	Mean      float64 `json:"mean"`      // in flight, while the level was kept
	Answers   int     `json:"answers"`   // all that were given
	Devices   *int    `json:"devices,omitempty"`
	// Stretches are the time in which the level was kept; none: it was not.
	Stretches []Stretch `json:"stretches,omitempty"`
}

// Stretch is a part of the time of a level, which begins and ends with an answer.
type Stretch struct {
	Took    time.Duration `json:"took_ns"`
	Answers int           `json:"answers"`
	Tokens  *int          `json:"tokens,omitempty"` // of these answers; nil: one has no count
	Joules  *float64      `json:"joules,omitempty"` // drawn by the model's GPUs in that time; nil: not known
}

// Arrivals is how chunks of answers were stamped and read: the instrument's own
// delay, where the kernel stamped them.
type Arrivals struct {
	Kernel  int           `json:"kernel"`  // answers with the kernel's stamps
	User    int           `json:"user"`    // answers stamped after the read
	Chunks  int           `json:"pieces"`  // with the kernel's stamps
	Shared  int           `json:"shared"`  // of these: came in one read with a later one; they are in no figure below
	Median  time.Duration `json:"lag_ns"`  // our read less the arrival, to 5 %
	P99     time.Duration `json:"p99_ns"`  // to 5 %
	Longest time.Duration `json:"long_ns"` // the longest
}

// Event is something that happened to a server.
type Event struct {
	Session int64     `json:"-"`
	At      time.Time `json:"at"`
	Kind    EventKind `json:"kind"`
	Subject string    `json:"subject"` // the backend's name, or the model's
	Text    string    `json:"text"`
}

// EventKind says what happened.
type EventKind string

const (
	EventStarted  EventKind = "started"  // Text: the command line
	EventDied     EventKind = "died"     // Text: how, and the end of its log
	EventStopped  EventKind = "stopped"  // by the run
	EventUnloaded EventKind = "unloaded" // a model left the memory
	EventStayed   EventKind = "stayed"   // a model that was to leave did not
)
