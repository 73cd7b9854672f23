package backends

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kinds of servers that nobody else serves.
const (
	KindPhantom  = "phantom"  // started inside the run; speaks as another kind
	KindImported = "imported" // answers made elsewhere, which are brought in
)

// Server is a model server of a bench.yaml.
type Server struct {
	Name     string
	Kind     string // a name of package kinds
	Protocol string // phantom only: the kind that it speaks as, a name of package kinds
	Caches   bool   `yaml:"caches"`                                  // phantom only: it remembers prompts and pictures
	Slots    int    `yaml:"slots" range:"1..1024" json:",omitempty"` // phantom only: replies that are worked on together; 0: no limit
	URL      string // http or https, without credentials or a trailing slash; not for phantom
	KeyEnv   string // environment variable that holds the API key
	KeyFile  string // file that holds it
	Place    string // "local" or "remote": where it is, whatever its address says; "": its address says
	CAFile   string // PEM file with the certificates of authorities to believe beside the system's
	Options  map[string]any
	Omit     []string `json:",omitempty"` // fields of requests that are left out, of its kind's Omits

	Command      []string      // starts the server; empty: somebody else does; {port} stands for Port
	Port         int           `json:",omitempty"` // what {port} in url was filled with; 0: it was not there
	StartTimeout time.Duration // until it is healthy
	Restarts     int           // after its death, per block, >= 0
	// SharesGPU says that judging on it would disturb timed trials.
	SharesGPU bool `yaml:"shares_gpu"`
}

// Start is Command with its port filled in.
func (s Server) Start() []string {
	out := slices.Clone(s.Command)
	for i, word := range out {
		if s.Port > 0 {
			out[i] = strings.ReplaceAll(word, "{port}", strconv.Itoa(s.Port))
		}
	}
	return out
}

// Phantom says that the server is started inside the run.
func (s Server) Phantom() bool { return s.Kind == KindPhantom }

// Imported says that its answers are made elsewhere.
func (s Server) Imported() bool { return s.Kind == KindImported }

// Model is a model on a backend; Name is results.Key.Model.
type Model struct {
	Name    string
	Backend string
	Model   string // the server's name for it
	Think   *bool  `yaml:"think"`                    // nil: the model's own default
	Vision  *bool  `yaml:"vision" json:",omitempty"` // whether it sees pictures, whatever its server says; nil: that is asked and tried

	Groups     []string `json:",omitempty"`                                     // for means over groups of models
	Parameters *float64 `yaml:"parameters" range:"1e5..1e15" json:",omitempty"` // nil: as its server says
}
