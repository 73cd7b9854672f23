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

// Query is a question as understood: which kind, about what.
type Query struct {
	Kind    kind
	Type    string // "single", "multiple", "bool", "short"; binaryKind, ordinalKind, Comparative, Spatial; Diagnosis
	Finding int    // askGrade, askCongestion, askSide: index into findings()
	Side    int    // 0: the patient's right; askGrade, askCause
	Device  int    // askDevices (bool), askPosition: index into devices()
	Claim   int    // what a bool question states, or the grade askList asks for
	Options []option
}

// Words for the slots of a form, in the order of the index they stand for.
func findings() []string {
	return []string{"pleural effusion", "pulmonary opacity", "atelectasis", "pulmonary congestion"}
}

const congested = 3 // index of the finding that has no side

func sides() []string { return []string{"right", "left"} }

func devices() []string {
	return []string{"central venous catheter", "gastric tube", "chest tube", "pacemaker"}
}

func severities() []string { return effusionRight.Grades() }

func exams() []string {
	return []string{"chest radiograph", "CT scan of the chest", "MRI scan of the chest", "ultrasound scan of the heart"}
}

func purposes() []string {
	return []string{"giving drugs into a central vein", "feeding or emptying the stomach", "draining the pleural space",
		"pacing the heart", "there is no device"}
}

func causes() []string {
	return []string{"pleural fluid", "consolidated lung", "collapsed lung", "no extra whiteness"}
}

func regionals() []string {
	return []string{"central venous catheter", "pacemaker lead", "both", "neither"}
}

// movable are the devices that can be repositioned, in the order of their sites.
func movable() []string {
	return []string{"central venous catheter", "gastric tube", "chest tube on the right", "chest tube on the left"}
}

// decisions are what can be done about a device, by its grade.
func decisions() []string {
	return []string{"nothing, there is none", "leave it in place", "reposition it"}
}

// counts are how many devices there can be.
func counts() []string { return []string{"0", "1", "2", "3", "4", "5"} }

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
		return findings()[congested]
	}
	return findings()[s/2] + " on the " + sides()[s%2]
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

// form is one way to ask: texts differ in wording only. A slot in braces names
// the field of Query that its word sets.
type form struct {
	kind  kind
	typ   string
	texts []string
}

const (
	region  = "the region from 40% to 60% of the width and from 5% to 30% of the height"
	region2 = "the region from 40% to 60% of the width and from 65% to 95% of the height"
)

func forms() []form {
	const one, all = " Select one option.", " Select all that apply."
	return []form{
		{askGrade, "single", []string{"How severe is the {finding} on the patient's {side} side?" + one, "Grade the {finding} on the patient's {side} side." + one}},
		{askGrade, "short", []string{"In one word, how severe is the {finding} on the patient's {side} side: none, questionable, mild, moderate or severe?",
			"Which grade (none, questionable, mild, moderate, severe) does the {finding} on the patient's {side} side have?"}},
		{askGrade, "bool", []string{"True or false: the {finding} on the patient's {side} side is at least {grade}.", "True or false? On the patient's {side} side there is a {finding} that is {grade} or worse."}},
		{askCongestion, "single", []string{"How severe is the pulmonary congestion?" + one, "Which grade does the pulmonary congestion have?" + one}},
		{askCongestion, "short", []string{"In one word, how severe is the pulmonary congestion: none, questionable, mild, moderate or severe?", "Give the grade of the pulmonary congestion (none, questionable, mild, moderate, severe)."}},
		{askCongestion, "bool", []string{"True or false: the pulmonary congestion is at least {grade}.", "True or false? There is {grade} or worse pulmonary congestion."}},
		{askHeart, "single", []string{"How large is the heart?" + one, "Which size does the heart have?" + one}},
		{askHeart, "short", []string{"Which size grade fits the heart: normal, borderline, enlarged or massively enlarged?", "Give the heart size as normal, borderline, enlarged or massively enlarged."}},
		{askHeart, "bool", []string{"True or false: the heart is larger than borderline.", "True or false? The heart is enlarged beyond the borderline."}},
		{askList, "multiple", []string{"Which of these findings are at least {grade}?" + all, "Mark every finding that is {grade} or worse." + all}},
		{askWorst, "single", []string{"Which of these abnormalities is the most severe?" + one, "Which one of these abnormalities stands out as the most severe?" + one}},
		{askSide, "single", []string{"On which side of the patient is the {finding} more severe?" + one, "Where is the {finding} worse?" + one}},
		{askSide, "short", []string{"On which side of the patient is the {finding} more severe: right, left, same or neither?", "Say in one word where the {finding} is worse: right, left, same or neither."}},
		{askSide, "multiple", []string{"On which sides of the patient is there at least a mild {finding}?" + all, "Mark the sides on which the {finding} is mild or worse." + all}},
		{askSide, "bool", []string{"True or false: the {finding} is more severe on the patient's {side} side than on the other.", "True or false? Of the two sides, the patient's {side} has the worse {finding}."}},
		{askDevices, "multiple", []string{"Which of these devices can be seen?" + all, "Mark every device that is visible." + all}},
		{askDevices, "bool", []string{"True or false: a {device} can be seen.", "True or false? The picture shows a {device}."}},
		{askRegion, "single", []string{"Apart from any gastric tube, what runs through " + region + "?" + one, "Look at " + region + ". Leaving gastric tubes aside, which line crosses it?" + one}},
		{askRegion, "short", []string{"Apart from any gastric tube, which line runs through " + region + ": central venous catheter, pacemaker lead, both or neither?",
			"Look at " + region + " and name the line in it, gastric tubes aside: central venous catheter, pacemaker lead, both or neither."}},
		{askRegion, "bool", []string{"True or false: a gastric tube runs through " + region2 + ".", "True or false? In " + region2 + " a gastric tube can be followed."}},
		{askPosition, "single", []string{"What should be done about the {device}?" + one, "Which step fits the {device}?" + one}},
		{askPosition, "short", []string{"In one word, is the {device} to be kept, to be repositioned, or absent: keep, reposition or absent?", "Decide about the {device} in one word: keep, reposition or absent."}},
		{askPosition, "bool", []string{"True or false: the {device} should be repositioned.", "True or false? There is a {device} and it needs a new position."}},
		{askPosition, "multiple", []string{"Which of these devices should be repositioned?" + all, "Mark every device that needs a new position." + all}},
		{askCount, "single", []string{"How many lines, tubes and implants can be seen in all?" + one, "Count the lines, tubes and implants." + one}},
		{askCount, "short", []string{"How many lines, tubes and implants can be seen in all? Answer with a number.", "Count the lines, tubes and implants and give the number."}},
		{askCount, "bool", []string{"True or false: more than one line, tube or implant can be seen.", "True or false? The picture shows two or more lines, tubes or implants."}},
		{askCause, "single", []string{"What is the main cause of whiteness in the patient's {side} lung?" + one, "What explains best why the patient's {side} lung is white in places?" + one}},
		{askCause, "short", []string{"Name the main cause of whiteness in the patient's {side} lung: pleural fluid, consolidated lung, collapsed lung or no extra whiteness.",
			"What makes the patient's {side} lung white: pleural fluid, consolidated lung, collapsed lung or no extra whiteness?"}},
		{askCause, "multiple", []string{"Which of these cause at least mild whiteness in the patient's {side} lung?" + all, "Mark all causes of at least mild whiteness in the patient's {side} lung." + all}},
		{askPurpose, "single", []string{"What is the device in this picture for?" + one, "Which purpose does the device in this picture serve?" + one}},
		{askPurpose, "short", []string{"In a few words, what is the device in this picture for?", "State the purpose of the device in this picture."}},
		{askExam, "single", []string{"Which examination is this?" + one, "By which examination was this picture made?" + one}},
		{askExam, "short", []string{"What kind of examination is this?", "Name the kind of examination."}},
		{askExam, "bool", []string{"True or false: this picture is a {exam}.", "True or false? What is shown here is a {exam}."}},
		{askExposure, "single", []string{"How is this film exposed?" + one, "Which word describes the exposure of this film?" + one}},
		{askExposure, "short", []string{"Is the exposure of this film adequate, too dark or too pale?", "Rate the exposure of this film: adequate, too dark or too pale."}},
		{askExposure, "bool", []string{"True or false: the exposure of this film is {exposure}.", "True or false? This film was exposed so that it is {exposure}."}},
	}
}

// slot gives the words of a slot and where in a query the index goes.
func (q *Query) slot(name string) ([]string, *int) {
	switch name {
	case "finding":
		return findings(), &q.Finding
	case "side":
		return sides(), &q.Side
	case "device":
		return devices(), &q.Device
	case "grade":
		return severities(), &q.Claim
	case "exam":
		return exams(), &q.Claim
	case "exposure":
		return exposure.Grades(), &q.Claim
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
	for _, f := range slices.Concat(forms(), faithfulForms(), caseForms()) {
		for _, text := range f.texts {
			q := Query{Kind: f.kind, Type: f.typ}
			if f.kind == askCongestion {
				q.Finding = congested
			}
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
