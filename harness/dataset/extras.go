package dataset

import (
	"fmt"
	"slices"
	"strings"

	"assay/perturb"
)

// gap is a question and gold answer of a data set that its knowledge base does
// not know. Its items have no Knowledge.
type gap struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	Items    int    `json:"items"`
	Why      string `json:"why"`
}

// extras is what stands beside a data set's own files: a table of regions, a
// knowledge base, the program that reads DICOM files. Each may be missing.
type extras struct {
	regions *regions
	kb      *knowledgeBase
	helper  *helper
	gaps    []gap // in the order of the items
	at      map[[2]string]int
}

func (s Source) extras() (*extras, error) {
	var e extras
	var err error
	if s.Regions != "" {
		if e.regions, err = ReadRegions(s.Regions); err != nil {
			return nil, err
		}
	}
	if e.helper, err = newHelper(s.DICOM); err != nil {
		return nil, err
	}
	if s.Knowledge != "" {
		if e.kb, err = readKnowledge(s.Knowledge); err != nil {
			return nil, err
		}
	}
	return &e, nil
}

// complete gives an item its regions, and one of the faithfulness study's types its knowledge.
func (e *extras) complete(it *Item) {
	if e.regions != nil {
		describe(e.regions, it)
	}
	if e.kb == nil || !slices.Contains(ClosedTypes(), it.Type) {
		return
	}
	var why string
	if it.Knowledge, why = e.kb.Lookup(it.Question, it.Answer, it.resolve); why == "" {
		return
	}
	key := [2]string{it.Question, it.Answer}
	g, ok := e.at[key]
	if !ok {
		if e.at == nil {
			e.at = map[[2]string]int{}
		}
		g = len(e.gaps)
		e.at[key] = g
		e.gaps = append(e.gaps, gap{Question: it.Question, Answer: it.Answer, Why: why})
	}
	e.gaps[g].Items++
}

// GapError lists the gaps of a knowledge base, for a plan that they stop.
func GapError(gaps []gap) error {
	if len(gaps) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the knowledge base has no entry for %d of the data set's questions and gold answers:", len(gaps))
	for _, g := range gaps {
		fmt.Fprintf(&b, "\n  %q with the answer %q (%d items): %s", g.Question, g.Answer, g.Items, g.Why)
	}
	b.WriteString("\nadd entries, or set knowledge_gaps: skip to leave clinical fidelity undefined for these")
	return fmt.Errorf("%s", b.String())
}

// describe fills in what a table of regions knows of an item: finding, regions,
// scale and aliases, each unless it has its own.
func describe(r *regions, it *Item) {
	if it.Scale == nil && it.Type == TypeOrdinal {
		it.Scale = r.Scale(it.optionTexts())
	}
	if it.Aliases == nil && slices.Contains(ClosedTypes(), it.Type) {
		it.Aliases = r.Aliases(it.optionTexts())
	}
	finding, side := r.About(it.Question)
	if finding == "" && r.Boxes(it.Finding) != nil {
		finding = it.Finding
	}
	if finding == "" {
		return
	}
	if it.Finding == "" {
		it.Finding = finding
	}
	if it.Regions != nil {
		return
	}
	it.Regions = r.Boxes(finding) // shared: nobody changes regions
	if side != "" {
		it.Regions = map[string][]perturb.Region{side: r.Boxes(finding)[side]}
	}
}
