package phantom

import (
	"cmp"

	"assay/backends/phantom/cache"
	"assay/backends/phantom/gpu"
	"assay/backends/phantom/judges"
	"assay/backends/phantom/reader"
)

// Profile is how a reader behaves.
type Profile = reader.Profile

// Profiles are the readers that every phantom server has.
func Profiles() []Profile { return reader.Profiles() }

// ProfileNames are the names of Profiles.
func ProfileNames() []string { return reader.ProfileNames() }

// What servers remember, and what judges and GPUs are made of.
type (
	Caches   = cache.Caches
	Judge    = judges.Judge
	Activity = gpu.Activity
	Card     = gpu.Card
	GPU      = gpu.GPU
)

// Judges are the judges that every phantom server has.
func Judges() []Judge { return judges.Judges() }

// JudgeNames are the names of Judges.
func JudgeNames() []string { return judges.JudgeNames() }

// NewActivity starts watching.
func NewActivity() *Activity { return gpu.NewActivity() }

// CaseJudge is a judge of cases of several images, whose every verdict is drawn by rates
// that are known; every phantom server has it, too.
func CaseJudge() Judge { return judges.OfCases() }

// DefaultCard is the GPU that phantom runs have.
func DefaultCard() Card { return gpu.DefaultCard() }

// NewGPU makes a card that follows an activity.
func NewGPU(of *Activity, c Card) *GPU { return gpu.NewGPU(of, c) }

// reply asks whoever the job is for.
func (s *server) reply(j job) (reader.Reply, error) {
	if by, ok := s.judges[j.reader.Name]; ok {
		text, ok := by.Reply(s.options.Seed, j.ask.Prompt, j.ask.Schema, s.options.Skill.Knows)
		return reader.Reply{Answer: text, Truth: reader.Truth{Understood: ok}}, nil
	}
	return s.options.Skill.Read(j.reader, s.options.Seed, j.ask)
}

// goesOn is how a text goes on for a reader that takes it as it stands.
func (s *server) goesOn(name, text string, seed int64) (string, bool) {
	p, ok := s.reader(cmp.Or(name, s.options.Loaded))
	if !ok {
		return "", false
	}
	r, err := s.options.Skill.Read(p, s.options.Seed, reader.Ask{Prompt: text, Raw: true, Seed: seed})
	return r.Answer, err == nil
}
