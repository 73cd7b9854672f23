package phantom

import (
	"slices"
	"strings"
)

// kind is what a question is about. Each kind may be asked in several forms: of
// the cot study "single", "multiple", "bool", "short", and those of faithful.go.
type kind int

// The kinds, with the task each stands for.
const (
	askGrade      kind = iota // Grading, Diagnosis: how severe is one finding
	askCongestion             // Grading, Diagnosis: how severe is the congestion
	askHeart                  // Grading, Diagnosis: how large is the heart
	askList                   // Diagnosis, Grading: which of these reach a grade
	askWorst                  // Diagnosis: which of these is the most severe
	askSide                   // Localization: which side is worse
	askDevices                // Recognition: which devices are there
	askRegion                 // Referring Recognition: what runs through this region
	askPosition               // Action: keep or reposition a device
	askCount                  // Counting: how many devices
	askCause                  // Cause: what makes one side white
	askPurpose                // Function: what is the device for
	askExam                   // Examination Type
	askExposure               // Image Quality
	askTube                   // where chest tubes enter; in the faithfulness study only
	askCase                   // Diagnosis: what several films show together; in the diagnosis study only
)

// option is one choice.
type option struct{ Label, Text string }

// Query is a question as understood: which kind, about what. What a reader leaves to chance hangs on
// how it prints, so kinds keep their numbers and fields their order.
type Query struct {
	Kind    kind
	Type    string // "single", "multiple", "bool", "short"; binaryKind, ordinalKind, Comparative, Spatial; Diagnosis
	Finding int    // askGrade, askCongestion, askSide: index into findings
	Side    int    // 0: the patient's right; askGrade, askCause
	Device  int    // askDevices (bool), askPosition: index into devices
	Claim   int    // what a bool question states, or the grade askList asks for
	Options []option
}

const congested = 3 // index of the finding that has no side

// Words for the slots of a form, in the order of the index they stand for, and of options.
var (
	findings = []string{"pleural effusion", "pulmonary opacity", "atelectasis", "pulmonary congestion"}
	usual    = []string{ // what holds for every picture with them
		"failure of the heart is a frequent cause of fluid that sinks to the lowest part",
		"air spaces that fill up are a frequent cause of white patches", "loss of air is the cause of such bands",
		"raised pressure in the veins causes the vessels to widen"}
	sides   = []string{"right", "left"}
	devices = []string{"central venous catheter", "gastric tube", "chest tube", "pacemaker"}
	exams   = []string{"chest radiograph", "CT scan of the chest", "MRI scan of the chest",
		"ultrasound scan of the heart"}
	purposes = []string{"giving drugs into a central vein", "feeding or emptying the stomach",
		"draining the pleural space", "pacing the heart", "there is no device"}
	causes    = []string{"pleural fluid", "consolidated lung", "collapsed lung", "no extra whiteness"}
	regionals = []string{"central venous catheter", "pacemaker lead", "both", "neither"}
	// movable are the devices that can be repositioned, in the order of their sites.
	movable = []string{"central venous catheter", "gastric tube", "chest tube on the right", "chest tube on the left"}
	// decisions are what can be done about a device, by its grade.
	decisions = []string{"nothing, there is none", "leave it in place", "reposition it"}
	// counts are how many devices there can be.
	counts = []string{"0", "1", "2", "3", "4", "5"}
)

const noneOfThese = "none of these"

// site is where a finding sits on a side.
func site(finding, side int) Site {
	if finding == congested {
		return congestion
	}
	return Site(2*finding + side)
}

// named is a graded site as an option names it.
func named(s Site) string {
	if s == congestion {
		return findings[congested]
	}
	return findings[s/2] + " on the " + sides[s%2]
}

// allNamed are sites as options name them.
func allNamed(sites []Site) []string {
	var out []string
	for _, s := range sites {
		out = append(out, named(s))
	}
	return out
}

// deviceSites are the sites of a device: two for chest tubes.
func deviceSites(device int) []Site {
	return [][]Site{{venousCatheter}, {gastricTube}, {chestTubeRight, chestTubeLeft}, {pacemaker}}[device]
}

// slot gives the words of a slot and where in a query the index goes.
func (q *Query) slot(name string) ([]string, *int) {
	switch name {
	case "finding":
		return findings, &q.Finding
	case "side":
		return sides, &q.Side
	case "device":
		return devices, &q.Device
	case "grade":
		return severity, &q.Claim
	case "exam":
		return exams, &q.Claim
	case "exposure":
		return exposure.Grades(), &q.Claim
	case "usual":
		return usual, &q.Finding
	}
	panic("phantom: internal error: unknown slot " + name)
}

// fill writes a form's text for a query.
func (q Query) fill(text string) string {
	for {
		before, rest, ok := strings.Cut(text, "{")
		if !ok {
			return text
		}
		name, after, _ := strings.Cut(rest, "}")
		words, at := q.slot(name)
		text = before + words[*at] + after
	}
}

// match finds a form's text in a prompt and reads its slots; end is where the
// question ends.
func match(text, prompt string, q *Query) (end int, ok bool) {
	head, _, _ := strings.Cut(text, "{")
	for from := 0; ; {
		i := strings.Index(prompt[from:], head)
		if i < 0 {
			return 0, false
		}
		if n, ok := q.read(text, prompt[from+i:]); ok {
			return from + i + n, true
		}
		from += i + 1
	}
}

// read reads a form's text at the start of s.
func (q *Query) read(text, s string) (n int, ok bool) {
	for {
		literal, rest, slotted := strings.Cut(text, "{")
		if !strings.HasPrefix(s[n:], literal) {
			return 0, false
		}
		n += len(literal)
		if !slotted {
			return n, true
		}
		name, after, _ := strings.Cut(rest, "}")
		words, at := q.slot(name)
		i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(s[n:], w) })
		if i < 0 {
			return 0, false
		}
		*at = i
		n += len(words[i])
		text = after
	}
}

// Understand finds in a prompt which question of ours it asks, with the options
// that follow the question. Only the prompt's text counts.
func Understand(prompt string) (Query, bool) {
	cot := forms("single", "short", "multiple", "bool")
	for _, f := range slices.Concat(cot, faithfulForms(), forms(diagnosis)) {
		for _, text := range f.texts {
			q := f.query
			end, ok := match(text, prompt, &q)
			if !ok {
				continue
			}
			q.Options = parseOptions(prompt[end:])
			if q.labelled() && len(q.Options) < 2 {
				continue
			}
			if (q.Kind == askList || q.Kind == askWorst || q.Kind == askCase) && len(q.Sites()) == 0 {
				continue
			}
			return q, true
		}
	}
	return Query{}, false
}

// lettered are texts as options A, B, C, ...
func lettered(texts []string) []option {
	var out []option
	for i, t := range texts {
		out = append(out, option{string(rune('A' + i)), capital(t)})
	}
	return out
}

// parseOptions reads the lines "A. text" or "A) text" in order of their letters, or a line that
// lists them as the faithfulness study does.
func parseOptions(text string) []option {
	for line := range strings.Lines(text) {
		if list, ok := strings.CutPrefix(line, "Possible answers: "); ok {
			text = strings.ReplaceAll(list, "; ", "\n")
			break
		}
	}
	var out []option
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if len(line) < 3 || len(out) == 26 || line[0] != byte('A'+len(out)) || (line[1] != '.' && line[1] != ')') {
			continue
		}
		out = append(out, option{line[:1], strings.TrimSpace(line[2:])})
	}
	return out
}

func siteNamed(text string) (Site, bool) {
	for _, s := range diagnoses() {
		if strings.EqualFold(named(s), text) {
			return s, true
		}
	}
	return 0, false
}
