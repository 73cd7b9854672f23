package phantom

import (
	"slices"
	"strings"
)

// about is what there is to know of questions of a kind, or of a type of it. Grades are those
// of its sites, in their order; a slot in braces names the field of Query whose word stands there.
type about struct {
	kind   kind
	typ    string             // "": all types that have no row of their own
	task   string             // of M3CoTBench, where the cot study asks it
	sites  func(Query) []Site // that the answer rests on; none: no pixel matters
	remark string             // what holds for every picture of the kind

	// One answer is right, that of read; of a "multiple" question, the words of the sites whose
	// grades hold. Where there are no answers, sites are named, behind noneOfThese if one is right.
	answers []string
	read    func(grades []int) int     // nil: the first grade
	holds   func(q Query, at int) bool // whether what a bool question states is true where that answer is right
	says    []string                   // what each answer means, the last for all after it; of several, none and some

	texts ways
}

// ways are how a kind is asked, by type, without what comes last.
type ways map[string][]string

const (
	region  = "the region from 40% to 60% of the width and from 5% to 30% of the height"
	region2 = "the region from 40% to 60% of the width and from 65% to 95% of the height"

	oneOfGrades = "none, questionable, mild, moderate or severe?"
	oneOfLines  = "central venous catheter, pacemaker lead, both or neither"
	oneOfCauses = "pleural fluid, consolidated lung, collapsed lung or no extra whiteness"

	later   = "later pictures help to monitor what is found"
	managed = "checking lines and tubes is a part of daily management"
	checked = "the tip of a line is checked before treatment goes on"
	harm    = "a tip in the wrong place loses its function and may do harm"
	differs = "fluid, consolidation and collapse need different treatment"
)

var (
	carriers = []Site{venousCatheter, gastricTube, chestTubeRight, chestTubeLeft, pacemaker}
	placings = []string{"there is no {device}", "the {device} is there and correctly positioned",
		"the {device} is there but not correctly positioned"}
)

// abouts is the table of kinds; what holds for one type comes after what holds for all. To add
// a kind: a row. The questions of a study come in the order of its rows.
var abouts = [...]about{
	{kind: askGrade, task: "Grading", sites: Query.oneSide, remark: "{usual}", answers: severity,
		holds: atLeastClaimed,
		says:  []string{"there is no {finding} on the {side}", "there is a {pick} {finding} on the {side}"},
		texts: ways{
			"single": {"How severe is the {finding} on the patient's {side} side?",
				"Grade the {finding} on the patient's {side} side."},
			"short": {"In one word, how severe is the {finding} on the patient's {side} side: " + oneOfGrades,
				"Which grade (none, questionable, mild, moderate, severe) does the {finding} " +
					"on the patient's {side} side have?"},
			"bool": {"True or false: the {finding} on the patient's {side} side is at least {grade}.",
				"True or false? On the patient's {side} side there is a {finding} that is {grade} or worse."},
			binaryKind: {"Does the patient's {side} side show at least mild {finding}?",
				"Is {finding} that is mild or worse present on the patient's {side} side?"},
			ordinalKind: {"Which grade of {finding} does the patient's {side} side show?",
				"Looking at the patient's {side} side, how severe is {finding} there?"}}},
	{kind: askCongestion, task: "Grading", sites: Query.oneSide, remark: "{usual}", answers: severity,
		holds: atLeastClaimed, says: []string{"there is no {finding}", "there is a {pick} {finding}"}, texts: ways{
			"single": {"How severe is the pulmonary congestion?", "Which grade does the pulmonary congestion have?"},
			"short": {"In one word, how severe is the pulmonary congestion: " + oneOfGrades,
				"Give the grade of the pulmonary congestion (none, questionable, mild, moderate, severe)."},
			"bool": {"True or false: the pulmonary congestion is at least {grade}.",
				"True or false? There is {grade} or worse pulmonary congestion."},
			binaryKind: {"Does the picture show at least mild pulmonary congestion?",
				"Is pulmonary congestion that is mild or worse present?"},
			ordinalKind: {"Which grade of pulmonary congestion does the picture show?",
				"Looking at the vessels, how severe is pulmonary congestion?"}}},
	{kind: askHeart, task: "Grading", sites: just(heart),
		remark:  "long strain on the muscle is a frequent cause of a wide heart",
		answers: heart.Grades(), holds: atLeast(enlarged),
		says: []string{"the heart size is normal", "the heart size is borderline",
			"the heart is enlarged to a moderate degree",
			"the heart is massively enlarged"}, texts: ways{
			"single": {"How large is the heart?", "Which size does the heart have?"},
			"short": {"Which size grade fits the heart: normal, borderline, enlarged or massively enlarged?",
				"Give the heart size as normal, borderline, enlarged or massively enlarged."},
			"bool": {"True or false: the heart is larger than borderline.",
				"True or false? The heart is enlarged beyond the borderline."},
			binaryKind: {"Is the heart wider than borderline?", "Does the width of the heart go beyond borderline?"},
			ordinalKind: {"Which size does the shadow of the heart have?",
				"Judged by its width, how large is the heart?"}}},
	{kind: askList, task: "Grading", sites: Query.offered, remark: later, holds: atLeastClaimed,
		says: []string{"none of the findings asked about is at least {grade}", "at least {grade} are: {pick}"},
		texts: ways{
			"multiple": {"Which of these findings are at least {grade}?",
				"Mark every finding that is {grade} or worse."}}},
	{kind: askWorst, task: "Diagnosis", sites: Query.offered, remark: later,
		read: func(g []int) int { return 1 + highest(g) },
		says: []string{"the most severe abnormality is the {pick}"}, texts: ways{
			"single": {"Which of these abnormalities is the most severe?",
				"Which one of these abnormalities stands out as the most severe?"}}},
	{kind: askSide, task: "Localization", sites: Query.bothSides, remark: "{usual}",
		answers: []string{"right", "left", "same", "neither"},
		read:    worseSide, holds: func(q Query, at int) bool { return at == q.Side },
		says: []string{"the {finding} is more severe on the right", "the {finding} is more severe on the left",
			"the {finding} is the same on both sides", "neither side has a {finding}"}, texts: ways{
			"single": {"On which side of the patient is the {finding} more severe?", "Where is the {finding} worse?"},
			"short": {"On which side of the patient is the {finding} more severe: right, left, same or neither?",
				"Say in one word where the {finding} is worse: right, left, same or neither."},
			"bool": {"True or false: the {finding} is more severe on the patient's {side} side than on the other.",
				"True or false? Of the two sides, the patient's {side} has the worse {finding}."},
			comparative: {"Which side of the patient has the worse {finding}?",
				"Comparing both sides of the patient, where is {finding} more severe?"}}},
	{kind: askSide, typ: "multiple", task: "Localization", sites: Query.bothSides, remark: "{usual}",
		answers: sides, holds: atLeast(mildGrade), says: []string{"neither side has an at least mild {finding}",
			"an at least mild {finding} is present on the {pick}"},
		texts: ways{"multiple": {"On which sides of the patient is there at least a mild {finding}?",
			"Mark the sides on which the {finding} is mild or worse."}}},
	{kind: askDevices, task: "Recognition", sites: Query.device, remark: managed,
		answers: []string{"absent", "present"}, read: present,
		holds: atLeast(1), says: []string{"there is no {device}", "a {device} is present"}, texts: ways{
			"bool":     {"True or false: a {device} can be seen.", "True or false? The picture shows a {device}."},
			binaryKind: {"Can a {device} be seen in the picture?", "Does this chest hold a {device}?"}}},
	{kind: askDevices, typ: "multiple", task: "Recognition", sites: just(carriers...), remark: managed,
		answers: append(devices[:3:3], devices[2:]...), holds: atLeast(placed),
		says: []string{"no device is present", "the devices present are: {pick}"},
		texts: ways{"multiple": {"Which of these devices can be seen?",
			"Mark every device that is visible."}}},
	{kind: askRegion, task: "Referring Recognition", sites: just(venousCatheter, pacemaker), remark: checked,
		answers: regionals, read: whichOfTwo,
		says: []string{"the region is crossed by: {pick}", "the region is crossed by: {pick}",
			"the region is crossed by: central venous catheter and pacemaker lead", "no line crosses the region"},
		texts: ways{
			"single": {"Apart from any gastric tube, what runs through " + region + "?",
				"Look at " + region + ". Leaving gastric tubes aside, which line crosses it?"},
			"short": {"Apart from any gastric tube, which line runs through " + region + ": " + oneOfLines + "?",
				"Look at " + region + " and name the line in it, gastric tubes aside: " + oneOfLines + "."}}},
	{kind: askRegion, typ: "bool", task: "Referring Recognition", sites: just(gastricTube), remark: checked,
		answers: []string{"absent", "present"}, read: present, holds: atLeast(1),
		says: []string{"no gastric tube runs through the region", "a gastric tube runs through the region"},
		texts: ways{"bool": {"True or false: a gastric tube runs through " + region2 + ".",
			"True or false? In " + region2 + " a gastric tube can be followed."}}},
	{kind: askPosition, task: "Action", sites: Query.device, remark: harm,
		answers: []string{"absent", "keep", "reposition"}, holds: atLeast(misplaced), says: placings, texts: ways{
			"short": {"In one word, is the {device} to be kept, to be repositioned, or absent: " +
				"keep, reposition or absent?",
				"Decide about the {device} in one word: keep, reposition or absent."},
			"bool": {"True or false: the {device} should be repositioned.",
				"True or false? There is a {device} and it needs a new position."},
			spatial: {"Is the {device} where it belongs?", "How does the {device} lie?"}}},
	{kind: askPosition, typ: "single", task: "Action", sites: Query.device, remark: harm,
		answers: decisions, says: placings, texts: ways{"single": {"What should be done about the {device}?",
			"Which step fits the {device}?"}}},
	{kind: askPosition, typ: "multiple", task: "Action", sites: just(carriers[:4]...), remark: harm,
		answers: movable,
		holds:   atLeast(misplaced), says: []string{"no device has to be repositioned", "to be repositioned: {pick}"},
		texts: ways{
			"multiple": {"Which of these devices should be repositioned?",
				"Mark every device that needs a new position."}}},
	{kind: askCount, task: "Counting", sites: just(carriers...), remark: managed, answers: counts, read: count,
		holds: atLeast(2), says: []string{"lines, tubes and implants in all: {pick}"}, texts: ways{
			"single": {"How many lines, tubes and implants can be seen in all?",
				"Count the lines, tubes and implants."},
			"short": {"How many lines, tubes and implants can be seen in all? Answer with a number.",
				"Count the lines, tubes and implants and give the number."},
			"bool": {"True or false: more than one line, tube or implant can be seen.",
				"True or false? The picture shows two or more lines, tubes or implants."}}},
	{kind: askCause, task: "Cause", sites: Query.lung, remark: differs, answers: causes, read: cause,
		says: []string{"it is {pick} on the {side}", "it is {pick} on the {side}", "it is {pick} on the {side}",
			"nothing whitens the {side} lung"}, texts: ways{
			"single": {"What is the main cause of whiteness in the patient's {side} lung?",
				"What explains best why the patient's {side} lung is white in places?"},
			"short": {"Name the main cause of whiteness in the patient's {side} lung: " + oneOfCauses + ".",
				"What makes the patient's {side} lung white: " + oneOfCauses + "?"}}},
	{kind: askCause, typ: "multiple", task: "Cause", sites: Query.lung, remark: differs,
		answers: causes, holds: atLeast(mildGrade),
		says: []string{"nothing whitens the {side} lung", "it is {pick} on the {side}"},
		texts: ways{"multiple": {"Which of these cause at least mild whiteness in the patient's {side} lung?",
			"Mark all causes of at least mild whiteness in the patient's {side} lung."}}},
	{kind: askPurpose, task: "Function", sites: just(carriers...), answers: purposes, read: purpose,
		remark: "the function of a device follows from the place where it ends",
		says:   []string{"it serves for: {pick}"}, texts: ways{
			"single": {"What is the device in this picture for?",
				"Which purpose does the device in this picture serve?"},
			"short": {"In a few words, what is the device in this picture for?",
				"State the purpose of the device in this picture."}}},
	{kind: askExam, task: "Examination Type", sites: just(), answers: exams, read: func([]int) int { return 0 },
		holds: isClaimed, remark: "a low dose is recommended because X-rays ionise", says: []string{"it is a {pick}"},
		texts: ways{
			"single": {"Which examination is this?", "By which examination was this picture made?"},
			"short":  {"What kind of examination is this?", "Name the kind of examination."},
			"bool":   {"True or false: this picture is a {exam}.", "True or false? What is shown here is a {exam}."}}},
	{kind: askExposure, task: "Image Quality", sites: just(exposure), answers: exposure.Grades(), holds: isClaimed,
		remark: "a wrong dose is a frequent cause of a poor film",
		says:   []string{"the exposure is adequate", "overexposure made it dark", "underexposure keeps it pale"},
		texts: ways{
			"single": {"How is this film exposed?", "Which word describes the exposure of this film?"},
			"short": {"Is the exposure of this film adequate, too dark or too pale?",
				"Rate the exposure of this film: adequate, too dark or too pale."},
			"bool": {"True or false: the exposure of this film is {exposure}.",
				"True or false? This film was exposed so that it is {exposure}."}}},
	{kind: askTube, sites: just(chestTubeRight, chestTubeLeft), remark: managed,
		answers: []string{"right", "left", "both", "none"}, read: whichOfTwo,
		says: []string{"a chest tube enters on the right alone", "a chest tube enters on the left alone",
			"a chest tube enters on the right and another one on the left", "there is no chest tube on either side"},
		texts: ways{
			spatial: {"Through which side of the patient does a chest tube enter?",
				"Which sides of the patient hold a chest tube?"}}},
	{kind: askCase, task: "Diagnosis", sites: Query.offered, remark: later, read: decisive,
		says: []string{"no film of the case shows what decides", "the diagnosis is {pick}"},
		texts: ways{diagnosis: {"Which of these diagnoses do the films of this case show?",
			"What do the films of this case, taken together, show?"}}},
}

// about finds a query's row.
func (q Query) about() (a *about) {
	for i := range abouts {
		if row := &abouts[i]; row.kind == q.Kind && (row.typ == "" || row.typ == q.Type) {
			a = row
		}
	}
	return a
}

// form is a way to ask: a query without slots, and texts that differ in wording only.
type form struct {
	query Query
	texts []string
}

// forms are the ways to ask questions of some types.
func forms(types ...string) []form {
	var out []form
	for _, row := range abouts {
		for _, typ := range types {
			q := Query{Kind: row.kind, Type: typ}
			if row.kind == askCongestion {
				q.Finding = congested
			}
			if row.texts[typ] != nil {
				out = append(out, form{q, q.texts()})
			}
		}
	}
	return out
}

// texts are the wordings of a query with what comes last in all of its type.
func (q Query) texts() []string {
	last := map[string]string{"single": " Select one option.", "multiple": " Select all that apply.",
		binaryKind: " (yes or no)"}[q.Type]
	if last == "" && q.faithful() {
		last = " (" + strings.Join(q.Choices(), ", ") + ")"
	}
	out := slices.Clone(q.about().texts[q.Type])
	for i := range out {
		out[i] += last
	}
	return out
}

// The sites of questions.
func just(sites ...Site) func(Query) []Site { return func(Query) []Site { return sites } }
func (q Query) oneSide() []Site             { return []Site{site(q.Finding, q.Side)} }
func (q Query) bothSides() []Site           { return []Site{site(q.Finding, 0), site(q.Finding, 1)} }
func (q Query) lung() []Site                { return []Site{site(0, q.Side), site(1, q.Side), site(2, q.Side)} }
func (q Query) device() []Site              { return deviceSites(q.Device) }
func (q Query) offered() (sites []Site) {
	for _, o := range q.Options {
		if s, ok := siteNamed(o.Text); ok {
			sites = append(sites, s)
		}
	}
	return sites
}

// How claims are judged.
func atLeast(n int) func(Query, int) bool { return func(_ Query, at int) bool { return at >= n } }
func atLeastClaimed(q Query, at int) bool { return at >= q.Claim }
func isClaimed(q Query, at int) bool      { return at == q.Claim }

// How the right answer is read from grades.
func highest(g []int) int { return slices.Index(g, slices.Max(g)) }
func present(g []int) int { return min(slices.Max(g), 1) }

func count(g []int) (n int) {
	for _, grade := range g {
		n += min(grade, 1)
	}
	return n
}

// worseSide is that of two, 2 where they are the same, 3 where they have nothing.
func worseSide(g []int) int {
	switch {
	case g[0] != g[1]:
		return highest(g)
	case g[0] == none:
		return 3
	}
	return 2
}

// whichOfTwo is there: 2 both, 3 neither.
func whichOfTwo(g []int) int { return []int{3, 0, 1, 2}[min(g[0], 1)+2*min(g[1], 1)] }

func cause(g []int) int {
	if slices.Max(g) < mildGrade {
		return len(g)
	}
	return highest(g)
}

func purpose(g []int) int {
	at := slices.IndexFunc(g, func(grade int) bool { return grade != absent })
	return []int{4, 0, 1, 2, 2, 3}[at+1]
}

// decisive is 0 where nothing of a case decides.
func decisive(g []int) int {
	if slices.Max(g) < moderate {
		return 0
	}
	return 1 + highest(g)
}

// Sites are the sites a query's answer rests on; none where no pixel matters.
func (q Query) Sites() []Site { return q.about().sites(q) }

// Task is the M3CoTBench task that a query of the cot study belongs to.
func (q Query) Task() string {
	task := q.about().task
	if task == "Grading" && (q.Type == "bool" || q.Type == "multiple") && (q.Claim == mildGrade || q.Kind == askHeart) {
		return "Diagnosis"
	}
	return task
}

// word is the answer at a place of those that a question has.
func (q Query) word(at int) string {
	a := q.about()
	switch {
	case a.answers != nil:
		return a.answers[at]
	case q.Type == "multiple":
		return named(a.sites(q)[at])
	case at == 0:
		return noneOfThese
	}
	return named(a.sites(q)[at-1])
}

// right is which answers findings make right: the places of their words.
func (q Query) right(f Findings) (places []int) {
	a := q.about()
	var g []int
	for _, s := range a.sites(q) {
		g = append(g, f[s].Grade)
	}
	switch {
	case q.Type == "multiple":
		for i, grade := range g {
			if a.holds(q, grade) && !slices.ContainsFunc(places, func(k int) bool { return q.word(k) == q.word(i) }) {
				places = append(places, i)
			}
		}
		return places
	case a.read == nil:
		return g[:1]
	}
	return []int{a.read(g)}
}

// Solve answers a query from findings: what is right, in the words of the
// options; "True" or "False"; "yes" or "no"; or a short answer. Unsure readings count with the
// grade they hold.
func (q Query) Solve(f Findings) []string {
	p := q.plain()
	right := p.right(f)
	var picks []string
	for _, at := range right {
		picks = append(picks, p.word(at))
	}
	switch {
	case right == nil:
		picks = []string{noneOfThese}
	case p.Type == "bool":
		picks = []string{"False"}
		if p.about().holds(p, right[0]) {
			picks[0] = "True"
		}
	}
	return q.closed(picks)
}

// conclusion says what the findings mean for the question.
func (q Query) conclusion(f Findings) string {
	right, says := q.right(f), q.about().says
	at := 1
	switch {
	case right == nil:
		at = 0
	case q.Type != "multiple":
		at = right[0]
	}
	var picks []string
	for _, k := range right {
		picks = append(picks, q.word(k))
	}
	return q.fill(strings.ReplaceAll(says[min(at, len(says)-1)], "{pick}", strings.Join(picks, " and ")))
}

// Choices are all answers a query allows, as Solve words them.
func (q Query) Choices() []string {
	switch {
	case len(q.Options) > 0:
		out := make([]string, len(q.Options))
		for i, o := range q.Options {
			out[i] = o.Text
		}
		return out
	case q.Type == "bool", q.Type == binaryKind:
		return q.closed([]string{"True", "False"})
	}
	return q.closed(q.about().answers)
}
