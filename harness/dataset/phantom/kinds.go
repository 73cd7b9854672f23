package phantom

import (
	"fmt"
	"slices"
	"strings"
)

// about is what there is to know of a question's kind. Grades are those of its sites, in
// their order. To add a kind: an entry in Query.about, with its wording in forms.
type about struct {
	task    string   // of M3CoTBench, where the cot study asks it
	sites   []Site   // that the answer rests on; none: no pixel matters
	remark  string   // what holds for every picture of the kind
	choices []string // of a short answer

	pick  func(grades []int) string              // the one right answer
	says  func(grades []int, pick string) string // what that means
	holds func(grades []int) bool                // whether what a bool question states is true

	// Where several answers may be right: the word for each site, at which grades it is right,
	// and what is concluded of all and of none.
	words      []string
	counts     func(grade int) bool
	some, none string
}

func mild(grade int) bool { return grade >= mildGrade }

// about is the table of kinds.
func (q Query) about() about {
	grading := "Grading"
	if (q.Type == "bool" || q.Type == "multiple") && q.Claim == mildGrade || q.Kind == askHeart && q.Type == "bool" {
		grading = "Diagnosis"
	}
	side := sides()[q.Side]
	carriers := []Site{venousCatheter, gastricTube, chestTubeRight, chestTubeLeft, pacemaker}
	kinds := append(devices()[:3:3], devices()[2:]...) // of the carriers
	options := func() (sites []Site) {
		for _, o := range q.Options {
			if s, ok := siteNamed(o.Text); ok {
				sites = append(sites, s)
			}
		}
		return sites
	}
	highest := func(g []int) int { return slices.Index(g, slices.Max(g)) }
	present := func(g []int) bool { return slices.Max(g) != absent }
	const later, managed = "later pictures help to monitor what is found", "checking lines and tubes is a part of daily management"
	switch q.Kind {
	case askGrade, askCongestion, askSide:
		a := about{task: grading, sites: []Site{site(q.Finding, q.Side)}, choices: severities(),
			remark: []string{"failure of the heart is a frequent cause of fluid that sinks to the lowest part", "air spaces that fill up are a frequent cause of white patches",
				"loss of air is the cause of such bands", "raised pressure in the veins causes the vessels to widen"}[q.Finding],
			holds: func(g []int) bool { return g[0] >= q.Claim },
			pick:  func(g []int) string { return severities()[g[0]] },
			says: func(g []int, pick string) string {
				if g[0] == none {
					return "there is no " + named(site(q.Finding, q.Side))
				}
				return "there is a " + pick + " " + named(site(q.Finding, q.Side))
			}}
		if q.Kind != askSide {
			return a
		}
		finding := findings()[q.Finding]
		a.task, a.sites, a.choices = "Localization", []Site{site(q.Finding, 0), site(q.Finding, 1)}, []string{"right", "left", "same", "neither"}
		a.holds = func(g []int) bool { return g[q.Side] > g[1-q.Side] }
		a.pick = func(g []int) string {
			switch {
			case g[0] > g[1]:
				return "right"
			case g[1] > g[0]:
				return "left"
			case g[0] == none:
				return "neither"
			}
			return "same"
		}
		a.says = func(_ []int, pick string) string {
			return map[string]string{"neither": "neither side has a " + finding, "same": "the " + finding + " is the same on both sides",
				"right": "the " + finding + " is more severe on the right", "left": "the " + finding + " is more severe on the left"}[pick]
		}
		a.words, a.counts, a.some, a.none = sides(), mild, "an at least mild "+finding+" is present on the %s", "neither side has an at least mild "+finding
		return a
	case askHeart:
		return about{task: grading, sites: []Site{heart}, remark: "long strain on the muscle is a frequent cause of a wide heart", choices: heart.Grades(),
			holds: func(g []int) bool { return g[0] > borderline },
			pick:  func(g []int) string { return heart.Grades()[g[0]] },
			says: func(g []int, _ string) string {
				return []string{"the heart size is normal", "the heart size is borderline", "the heart is enlarged to a moderate degree", "the heart is massively enlarged"}[g[0]]
			}}
	case askList:
		return about{task: grading, sites: options(), remark: later, words: allNamed(options()), counts: func(grade int) bool { return grade >= q.Claim },
			some: "at least " + severities()[q.Claim] + " are: %s", none: "none of the findings asked about is at least " + severities()[q.Claim]}
	case askWorst:
		return about{task: "Diagnosis", sites: options(), remark: later,
			pick: func(g []int) string { return named(options()[highest(g)]) },
			says: func(_ []int, pick string) string { return "the most severe abnormality is the " + pick }}
	case askCase:
		return about{task: "Diagnosis", sites: options(), remark: later,
			pick: func(g []int) string {
				if slices.Max(g) < moderate {
					return noneOfThese
				}
				return named(options()[highest(g)])
			},
			says: func(_ []int, pick string) string {
				if pick == noneOfThese {
					return "no film of the case shows what decides"
				}
				return "the diagnosis is " + pick
			}}
	case askDevices:
		a := about{task: "Recognition", sites: deviceSites(q.Device), remark: managed, holds: present, pick: func([]int) string { return "" },
			says: func(g []int, _ string) string {
				if present(g) {
					return "a " + devices()[q.Device] + " is present"
				}
				return "there is no " + devices()[q.Device]
			},
			words: kinds, counts: func(grade int) bool { return grade != absent }, some: "the devices present are: %s", none: "no device is present"}
		if q.Type == "multiple" {
			a.sites = carriers
		}
		return a
	case askRegion:
		a := about{task: "Referring Recognition", sites: []Site{venousCatheter, pacemaker}, remark: "the tip of a line is checked before treatment goes on", choices: regionals(),
			pick: func(g []int) string {
				return []string{regionals()[3], regionals()[0], regionals()[1], regionals()[2]}[min(g[0], 1)+2*min(g[1], 1)]
			},
			says: func(_ []int, pick string) string {
				switch pick {
				case regionals()[2]:
					pick = regionals()[0] + " and " + regionals()[1]
				case regionals()[3]:
					return "no line crosses the region"
				}
				return "the region is crossed by: " + pick
			}}
		if q.Type == "bool" {
			a.sites, a.holds, a.pick = []Site{gastricTube}, present, func([]int) string { return "" }
			a.says = func(g []int, _ string) string {
				if present(g) {
					return "a gastric tube runs through the region"
				}
				return "no gastric tube runs through the region"
			}
		}
		return a
	case askPosition:
		answers, d := []string{"absent", "keep", "reposition"}, devices()[q.Device]
		a := about{task: "Action", sites: deviceSites(q.Device), remark: "a tip in the wrong place loses its function and may do harm", choices: answers,
			holds: func(g []int) bool { return g[0] == misplaced },
			pick:  func(g []int) string { return answers[g[0]] },
			says: func(g []int, _ string) string {
				return []string{"there is no " + d, "the " + d + " is there and correctly positioned", "the " + d + " is there but not correctly positioned"}[g[0]]
			},
			words: movable(), counts: func(grade int) bool { return grade == misplaced }, some: "to be repositioned: %s", none: "no device has to be repositioned"}
		switch q.Type {
		case "multiple":
			a.sites = carriers[:4]
		case "single":
			a.pick = func(g []int) string { return decisions()[g[0]] }
		}
		return a
	case askCount:
		count := func(g []int) (n int) {
			for _, grade := range g {
				n += min(grade, 1)
			}
			return n
		}
		return about{task: "Counting", sites: carriers, remark: managed, choices: counts(),
			holds: func(g []int) bool { return count(g) > 1 },
			pick:  func(g []int) string { return fmt.Sprint(count(g)) },
			says:  func(_ []int, pick string) string { return "lines, tubes and implants in all: " + pick }}
	case askTube:
		return about{sites: carriers[2:4], remark: managed,
			pick: func(g []int) string {
				return []string{"none", "right", "left", "both"}[min(g[0], 1)+2*min(g[1], 1)]
			},
			says: func(_ []int, pick string) string {
				return map[string]string{"both": "a chest tube enters on the right and another one on the left", "right": "a chest tube enters on the right alone",
					"left": "a chest tube enters on the left alone", "none": "there is no chest tube on either side"}[pick]
			}}
	case askCause:
		nothing := "nothing whitens the " + side + " lung"
		return about{task: "Cause", sites: []Site{site(0, q.Side), site(1, q.Side), site(2, q.Side)}, remark: "fluid, consolidation and collapse need different treatment", choices: causes(),
			pick: func(g []int) string {
				if !mild(slices.Max(g)) {
					return causes()[3]
				}
				return causes()[highest(g)]
			},
			says: func(_ []int, pick string) string {
				if pick == causes()[3] {
					return nothing
				}
				return "it is " + pick + " on the " + side
			},
			words: causes()[:3], counts: mild, some: "it is %s on the " + side, none: nothing}
	case askPurpose:
		return about{task: "Function", sites: carriers, remark: "the function of a device follows from the place where it ends", choices: purposes(),
			pick: func(g []int) string {
				at := slices.IndexFunc(g, func(grade int) bool { return grade != absent })
				return purposes()[[]int{4, 0, 1, 2, 2, 3}[at+1]]
			},
			says: func(_ []int, pick string) string { return "it serves for: " + pick }}
	case askExam:
		return about{task: "Examination Type", remark: "a low dose is recommended because X-rays ionise", choices: exams(),
			holds: func([]int) bool { return q.Claim == 0 },
			pick:  func([]int) string { return exams()[0] },
			says:  func([]int, string) string { return "it is a " + exams()[0] }}
	}
	return about{task: "Image Quality", sites: []Site{exposure}, remark: "a wrong dose is a frequent cause of a poor film", choices: exposure.Grades(),
		holds: func(g []int) bool { return g[0] == q.Claim },
		pick:  func(g []int) string { return exposure.Grades()[g[0]] },
		says: func(g []int, _ string) string {
			return []string{"the exposure is adequate", "overexposure made it dark", "underexposure keeps it pale"}[g[0]]
		}}
}

// Sites are the sites a query's answer rests on; none where no pixel matters.
func (q Query) Sites() []Site { return q.about().sites }

// Task is the M3CoTBench task that a query of the cot study belongs to.
func (q Query) Task() string { return q.about().task }

func (a about) grades(f Findings) []int {
	g := make([]int, len(a.sites))
	for i, s := range a.sites {
		g[i] = f[s].Grade
	}
	return g
}

// several are the words of the sites whose grades count.
func (a about) several(g []int) []string {
	var list []string
	for i, grade := range g {
		if a.counts(grade) && !slices.Contains(list, a.words[i]) {
			list = append(list, a.words[i])
		}
	}
	if list == nil {
		return []string{noneOfThese}
	}
	return list
}

// Solve answers a query from findings: what is right, in the words of the
// options; "True" or "False"; "yes" or "no"; or a short answer. Unsure readings count with the
// grade they hold.
func (q Query) Solve(f Findings) []string {
	p := q.plain()
	a := p.about()
	g := a.grades(f)
	var pick string
	switch p.Type {
	case "multiple":
		return a.several(g)
	case "bool":
		pick = "False"
		if a.holds(g) {
			pick = "True"
		}
	default:
		pick = a.pick(g)
	}
	if word, ok := closedWords()[pick]; ok && q.faithful() {
		pick = word
	}
	return []string{pick}
}

// conclusion says what the findings mean for the question.
func (q Query) conclusion(f Findings) string {
	a := q.about()
	g := a.grades(f)
	if q.Type != "multiple" {
		return a.says(g, a.pick(g))
	}
	picks := a.several(g)
	if picks[0] == noneOfThese {
		return a.none
	}
	return fmt.Sprintf(a.some, strings.Join(picks, " and "))
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
	case q.Type == "bool":
		return []string{"True", "False"}
	case q.faithful():
		return q.faithfulChoices()
	}
	return q.about().choices
}
